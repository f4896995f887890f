"""The TensorFlow engine: its step is the reference's, and it trains as well."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.words import planted

from feedline import words
from feedline.errors import TrainingError
from feedline.words.engine import Setup, reference, tables
from feedline.words.engine.config import Config
from feedline.words.engine.kinds import Rates
from feedline.words.engine.weights import GloveWeights, Weights, fresh_glove

tf = pytest.importorskip("tensorflow")
pytestmark = pytest.mark.tensorflow

WORDS = 60
RATE = 1e-8

CASES = [
    {"model": model, "loss": loss, "min_n": n, "max_n": n}
    for model, loss, n in itertools.product(["skipgram", "cbow"], ["ns", "hs"], [0, 2])
]


def text(seed: int, size: int = 300) -> np.ndarray:
    draw = np.random.default_rng(seed)
    share = 1 / np.arange(1, WORDS + 1)
    ids = draw.choice(WORDS, size, p=share / share.sum()).astype(np.int32)
    ids[draw.random(size) < 0.08] = -1
    return ids


class Rows:
    """Rows in memory, for a step to look up and its changes to be added to."""

    def __init__(self, weights: Weights) -> None:
        self.tables = {"inputs": weights.inputs, "outputs": weights.outputs}

    def look(self, table: str, ids):
        return tf.gather(tf.constant(self.tables[table], tf.float32), ids)


@pytest.mark.parametrize("options", CASES, ids=lambda o: "-".join(map(str, o.values())))
def test_a_step_is_the_references(options):
    from feedline.words.engine.tensorflow import places, program
    from feedline.words.engine.tensorflow.bags import Bags
    from feedline.words.engine.tensorflow.draws import Sampler, Shape
    from feedline.words.engine.tensorflow.text import TextModel

    config = Config.of(
        dim=12, window=3, negative=4, sample=1e-2, bucket=97, threads=1, **options
    )
    tokens = text(1)
    counts = np.bincount(tokens[tokens >= 0], minlength=WORDS)
    names = tuple(f"word{i}" for i in range(WORDS))
    look_up = tables.make(config, names, counts)
    noise = 0 if config.loss == "hs" else config.negative
    shape = Shape(384, groups=40, centres=8, window=config.window, noise=noise)
    run = program.TextProgram(
        Sampler(look_up, shape),
        TextModel(look_up, shape),
        Bags(look_up) if config.subwords else None,
    )
    draw = np.random.default_rng(3)
    weights = Weights(
        np.vstack([draw.normal(0, 0.3, (look_up.input_rows, 12)), np.zeros(12)]),
        np.vstack([draw.normal(0, 0.3, (look_up.output_rows, 12)), np.zeros(12)]),
        12,
    )
    state = run.prepare(*map(tf.constant, run.arguments(tokens, 5, Rates(1, 0, 1))))
    assert int(state.steps) == 1
    rows = Rows(weights)
    found = run.step(state, 0, 0, 1, rows.look)
    changed = {name: np.zeros_like(each) for name, each in rows.tables.items()}
    for change in found.changes:
        moved = places.spread(run, change)
        np.add.at(changed[change.table], moved.ids.numpy(), moved.values.numpy())

    wanted = Weights(weights.inputs.copy(), weights.outputs.copy(), 12)
    tally = by_reference(look_up, wanted, state.draws, shape)
    for name, own in changed.items():
        moved = (getattr(wanted, name) - rows.tables[name]) / RATE
        assert own == pytest.approx(moved, rel=1e-3, abs=2e-3)
    assert round(float(found.examples)) == tally.examples
    assert float(found.loss) == pytest.approx(tally.loss, rel=1e-4)


def by_reference(look_up, weights, draws, shape):
    """The same draws through the reference's own functions, at a tiny rate."""
    config = look_up.config
    count = int(draws.kept)
    kept = draws.words.numpy()[shape.window :][:count]
    sentence = draws.sentences.numpy()[shape.window :][:count]
    reaches = draws.reaches.numpy().reshape(-1)
    noise = draws.noise.numpy()
    done = reference.Tally(kept=count)

    def target(word, group):
        if config.loss == "hs":
            return reference.target_of(look_up, word, None)
        negatives = [n for n in noise[group].tolist() if n != word]
        return [(word, 1.0), *((other, -1.0) for other in negatives)]

    for i in range(count):
        group, reach = i // shape.centres, int(reaches[i])
        near = [
            int(kept[j])
            for j in range(max(0, i - reach), min(count, i + reach + 1))
            if j != i and sentence[j] == sentence[i]
        ]
        word = int(kept[i])
        if not near:
            continue
        if config.model == "cbow":
            bag = [row for other in near for row in reference.bag_of(look_up, other)]
            pairs = [(bag, word)]
        elif config.subwords:
            pairs = [(reference.bag_of(look_up, word), other) for other in near]
        else:
            pairs = [([other], word) for other in near]
        for bag, goal in pairs:
            mean = weights.inputs[bag].mean(axis=0)
            change, loss = reference.whole(weights, mean, target(goal, group), RATE)
            np.add.at(weights.inputs, bag, change)
            done += reference.Tally(loss, 1)
    return done


def test_glove_is_the_references_where_no_word_comes_twice():
    from feedline.words.engine import tensorflow as engine

    config = Config.of(model="glove", dim=10, threads=1)
    pairs = np.arange(WORDS, dtype=np.int32).reshape(-1, 2)
    pairs[0] = 5, 5  # a word beside itself
    pairs[2] = 1, 0
    logs = np.linspace(0.1, 6, len(pairs)).astype(np.float32)
    slow, fast = fresh_glove(config, WORDS), fresh_glove(config, WORDS)
    wanted = reference.glove(config, slow, pairs, logs)
    runner = engine.pairs(config, fast, WORDS, Setup())
    found = runner.pairs(pairs, logs) + runner.flush()
    runner.pull()
    assert found.examples == wanted.examples
    assert found.loss == pytest.approx(wanted.loss, rel=1e-4)
    check(slow, fast)


def check(slow: GloveWeights, fast: GloveWeights) -> None:
    for mine, theirs in zip(slow.matrices(), fast.matrices(), strict=True):
        assert theirs == pytest.approx(mine, rel=1e-3, abs=1e-5)


MODELS = {
    "skipgram": {},
    "skipgram, tree": {"loss": "hs"},
    "skipgram, subwords": {"min_n": 3, "max_n": 4, "bucket": 5000},
    "cbow": {"model": "cbow"},
    "cbow, tree": {"model": "cbow", "loss": "hs"},
    "cbow, subwords": {"model": "cbow", "min_n": 3, "max_n": 4, "bucket": 5000},
    "glove": {"model": "glove", "x_max": 10.0, "epochs": 40},
    "skipgram, bfloat16": {"precision": "mixed_bfloat16"},
}
USUAL = {"dim": 32, "epochs": 5, "min_count": 1, "sample": 0.0, "threads": 1}


@pytest.fixture(scope="module")
def language():
    return planted.sentences()


@pytest.mark.slow
@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
def test_analogies_are_found(language, options):
    vectors = words.train(language, engine="tensorflow", **{**USUAL, **options})
    assert planted.solved(vectors) >= 0.9
    losses = vectors.config["losses"]
    assert losses[-1] < losses[0]


@pytest.fixture(scope="module")
def whole(language):
    """Trained from the beginning to the end."""
    return words.train(language, engine="tensorflow", **USUAL)


def test_trains_as_the_cpu_does(language, whole):
    fast = words.train(language, **USUAL)
    assert planted.solved(whole) >= 0.9
    assert whole.config["losses"] == pytest.approx(fast.config["losses"], rel=0.3)


def test_trains_the_same_again(language, whole):
    again = words.train(language, engine="tensorflow", **USUAL)
    assert again.matrix == pytest.approx(whole.matrix, abs=1e-3)


def test_goes_on_from_a_checkpoint(language, whole, tmp_path):
    def stop(progress):
        if progress.stage == "train" and progress.epoch == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        words.train(
            language, out=tmp_path / "run", engine="tensorflow", progress=stop, **USUAL
        )
    vectors = words.train(
        language, out=tmp_path / "run", engine="tensorflow", resume=True, **USUAL
    )
    assert len(vectors.config["losses"]) == 5
    assert vectors.config["losses"] == pytest.approx(whole.config["losses"], rel=1e-3)
    assert vectors.matrix == pytest.approx(whole.matrix, abs=1e-2)
    with pytest.raises(TrainingError, match="engine"):
        words.train(
            language, out=tmp_path / "run", force=True, engine="nothing", **USUAL
        )


@pytest.mark.parametrize(
    ("speeds", "said"),
    [
        (
            {"cpu": 3000.0, "tensorflow": 2000.0},
            "engine cpu: 3,000 tokens/s, 1.5 x the 2,000 of tensorflow",
        ),
        (
            {"cpu": 1000.0, "tensorflow": 2500.0},
            "engine tensorflow: 2,500 tokens/s, 2.5 x the 1,000 of cpu",
        ),
    ],
    ids=["cpu", "tensorflow"],
)
def test_auto_takes_the_faster_and_says_by_how_much(
    language, monkeypatch, caplog, speeds, said
):
    from feedline.words.training import auto

    monkeypatch.setattr(auto, "speed", lambda name, *_: speeds[name])
    with caplog.at_level("INFO", logger="feedline"):
        vectors = words.train(language[:500], engine="auto", **USUAL)
    assert vectors.config["engine_speeds"] == speeds
    assert vectors.config["engine"] == max(speeds, key=speeds.get)
    assert said in caplog.messages


def test_auto_measures_both(language, monkeypatch):
    from feedline.words.training import auto

    monkeypatch.setattr(auto, "SECONDS", 0.0)
    vectors = words.train(language[:500], engine="auto", **USUAL)
    speeds = vectors.config["engine_speeds"]
    assert set(speeds) == {"cpu", "tensorflow"}
    assert min(speeds.values()) > 0
    assert vectors.config["engine"] == max(speeds, key=speeds.get)


def test_auto_without_tensorflow_is_cpu(language, monkeypatch):
    from feedline.words.training import auto

    monkeypatch.setattr(auto.importlib.util, "find_spec", lambda _: None)
    vectors = words.train(language[:500], engine="auto", **USUAL)
    assert vectors.config["engine"] == "cpu"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"devices": "TPU:0"}, "is not a device"),
        ({"devices": "GPU:0,GPU:0"}, "once"),
        ({"devices": "GPU:77"}, "GPU:77"),
        ({"precision": "half"}, "mixed_float16"),
        ({"device_memory": -1}, "device_memory"),
        ({"device_memory": 1e-6}, "more devices"),
        ({"worker": 3}, "no cluster"),
        ({"engine": "cpu", "devices": "all"}, "engine tensorflow"),
        ({"engine": "auto", "worker": 0}, "one machine"),
        ({"engine": "cpu", "precision": "mixed_float16"}, "float32"),
    ],
)
def test_what_cannot_be_done_is_said(options, message, language):
    options = {"engine": "tensorflow", **USUAL, **options}
    with pytest.raises(TrainingError, match=message):
        words.train(language[:200], **options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing", "not a cluster"),
        ("[]", "not a cluster"),
        ('{"cluster": {"worker": []}}', "no workers"),
        ('{"cluster": {"worker": ["a"]}}', "'a'"),
        ('{"cluster": {"worker": ["a:1", "a:1"]}}', "twice"),
        ('{"cluster": {"worker": ["a:1", "b:1"]}}', "--worker"),
        ('{"cluster": {"worker": ["a:1"], "ps": ["b:1"]}}', "'ps'"),
        (
            '{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"index": 2}}',
            "0 to 1",
        ),
    ],
)
def test_a_cluster_that_is_none(text, message, tmp_path):
    from feedline.words.engine.tensorflow import cluster

    file = tmp_path / "cluster.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(TrainingError, match=message):
        cluster.read(file)


def test_a_cluster_is_read_from_a_file_or_the_environment(tmp_path, monkeypatch):
    from feedline.words.engine.tensorflow import cluster

    both = '{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"index": 1}}'
    monkeypatch.setenv("TF_CONFIG", both)
    assert cluster.read(None) == cluster.Cluster(("a:1", "b:1"), 1)
    file = tmp_path / "cluster.json"
    file.write_text(both, encoding="utf-8")
    assert cluster.read(file, 0).chief
    with pytest.raises(TrainingError, match="cannot be read"):
        cluster.read(tmp_path / "none.json")
