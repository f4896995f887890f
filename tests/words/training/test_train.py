"""`words.train`: what it gives, what it leaves on disk, and what it refuses."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from tests.words import planted

from feedline import words
from feedline.errors import CorpusError, FeedlineError, OutputExists, TrainingError
from feedline.words.engine.config import Config
from feedline.words.text import cooccurrence, spans

QUICK = {"dim": 16, "epochs": 2, "min_count": 1, "threads": 1}


@pytest.fixture(scope="module")
def language():
    return planted.sentences(count=600)


@pytest.fixture
def corpus(tmp_path, language):
    path = tmp_path / "corpus.txt"
    text = "\n".join(" ".join(line) for line in language) + "\n"
    path.write_text(text, encoding="utf-8")
    return path


def test_from_a_file_into_a_directory(corpus, tmp_path):
    seen = []
    out = tmp_path / "out"
    vectors = words.train(corpus, out=out, progress=seen.append, **QUICK)
    loaded = words.load(out)
    assert loaded.words == vectors.words
    assert np.array_equal(loaded.matrix, vectors.matrix)
    assert loaded.matrix.shape == (len(vectors), 16)
    assert loaded.config["window"] == 5
    assert loaded.config["epochs"] == 2
    lines = (out / "metrics.jsonl").read_text("utf-8").splitlines()
    notes = [json.loads(line) for line in lines]
    assert [note["epoch"] for note in notes] == [1, 2]
    assert notes[-1]["done"] == 1.0
    assert notes[-1]["loss"] == pytest.approx(vectors.config["losses"][-1])
    assert not list((out / "training").glob("checkpoint*"))
    training = [progress for progress in seen if progress.stage == "train"]
    assert training[-1].done == pytest.approx(training[-1].total)
    assert training[-1].words_per_second > 0


def test_the_loss_is_the_mean_of_all_examples(corpus):
    # At the start outputs are zero: every dot is 0 and every -log p is log 2.
    config = {**QUICK, "epochs": 1, "alpha": 1e-9, "min_alpha": 0.0}
    vectors = words.train(corpus, negative=5, **config)
    assert vectors.config["losses"] == pytest.approx([6 * np.log(2)], rel=1e-5)


def test_one_thread_and_a_seed_give_the_same_vectors(language):
    first, second = (words.train(language, seed=7, **QUICK) for _ in range(2))
    other = words.train(language, seed=8, **QUICK)
    assert np.array_equal(first.matrix, second.matrix)
    assert not np.array_equal(first.matrix, other.matrix)


def test_both_engines_give_the_same_vectors(language):
    fast = words.train(language[:60], **QUICK)
    slow = words.train(language[:60], engine="reference", **QUICK)
    assert fast.words == slow.words
    assert fast.matrix == pytest.approx(slow.matrix, abs=1e-5)


def test_nothing_is_left_without_out(language, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    words.train(language, **QUICK)
    assert not list(tmp_path.iterdir())


def test_vectors_of_every_epoch(corpus, tmp_path):
    out = tmp_path / "out"
    final = words.train(corpus, out=out, save_epochs=True, **QUICK)
    first, second = words.load(out / "epoch-1"), words.load(out / "epoch-2")
    assert np.array_equal(second.matrix, final.matrix)
    assert not np.array_equal(first.matrix, final.matrix)


@pytest.mark.parametrize("grams", [{}, {"min_n": 2, "max_n": 3, "bucket": 500}])
def test_training_goes_on_with_more_text_and_new_words(tmp_path, language, grams):
    config = {**QUICK, **grams}
    first = words.train(language, out=tmp_path / "a", **config)
    more = [["capital1near1", "new", "words", "here"]] * 30
    second = words.train(
        more, out=tmp_path / "b", start=tmp_path / "a", alpha=1e-9, **config
    )
    assert {"new", "words", "here"} < set(second.words)
    assert set(first.words) < set(second.words)
    for word in first.words[::10]:
        assert second[word] == pytest.approx(first[word], abs=2e-4)
    assert second.counts[second.index["capital1near1"]] == (
        first.counts[first.index["capital1near1"]] + 30
    )
    # With the outputs carried over the loss starts where it was left, not at zero.
    begun = second.config["losses"][0]
    assert begun != pytest.approx(6 * np.log(2), rel=1e-3)


def test_continuing_needs_the_same_shape(language):
    first = words.train(language, **QUICK)
    with pytest.raises(TrainingError, match=r"dim is 8.*have 16: give dim 16"):
        words.train(language, start=first, **{**QUICK, "dim": 8})
    with pytest.raises(TrainingError, match="min_n 0 and max_n 0"):
        words.train(language, start=first, min_n=3, max_n=4, **QUICK)
    with pytest.raises(TrainingError, match="GloVe"):
        words.train(language, start=first, model="glove", **QUICK)
    with pytest.raises(TrainingError, match="read only once"):
        words.train(iter(language), start=first, **QUICK)


def test_nothing_is_overwritten_unasked(corpus, tmp_path):
    out = tmp_path / "out"
    words.train(corpus, out=out, **QUICK)
    with pytest.raises(OutputExists, match="force"):
        words.train(corpus, out=out, **QUICK)
    words.train(corpus, out=out, force=True, **QUICK)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dim": 0}, "dim is 0; it must be a whole number from 1"),
        ({"dim": 1.5}, "dim is 1.5"),
        ({"window": True}, "window is True"),
        ({"model": "bert"}, "model is 'bert'; it can be skipgram, cbow, glove"),
        ({"loss": "softmax"}, "loss is 'softmax'; it can be ns, hs"),
        ({"alpha": float("nan")}, "alpha is nan"),
        ({"alpha": 0.01, "min_alpha": 0.02}, "min_alpha is 0.02, above alpha"),
        ({"epochs": -1}, "epochs is -1"),
        ({"min_n": 3}, "give both"),
        ({"min_n": 5, "max_n": 3}, "the smaller first"),
        ({"model": "glove", "min_n": 3, "max_n": 6}, "GloVe has no subwords"),
        ({"engine": "gpu"}, "no engine 'gpu'; there are: cpu, tensorflow"),
        ({"threads": 0}, "threads is 0"),
        ({"sample": -1.0}, "sample is -1.0"),
        ({"resume": True}, "resume needs the directory"),
        ({"save_epochs": True}, "save_epochs needs a directory"),
        ({"checkpoint_every": 0}, "checkpoint_every is 0"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(TrainingError, match=message):
        words.train([["a", "b"]], **options)


def test_defaults_follow_the_model():
    assert Config.of().alpha == 0.025
    assert Config.of(model="cbow").alpha == 0.05
    assert Config.of(model="glove").epochs == 15
    assert Config.of(alpha=0.1, epochs=5).min_alpha == pytest.approx(0.01)
    with pytest.raises(TrainingError, match="no training option 'size'"):
        Config.of(size=3)


@pytest.mark.parametrize("text", ["", "   \n \n"])
def test_an_empty_corpus(tmp_path, text):
    path = tmp_path / "empty.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CorpusError, match="empty"):
        words.train(path, **QUICK)


def test_one_word_is_too_few():
    with pytest.raises(TrainingError, match=r"one word, 'a'.*at least two"):
        words.train([["a", "a"]], **QUICK)


def test_a_min_count_that_leaves_nothing():
    with pytest.raises(CorpusError, match="min_count"):
        words.train([["a", "b"]], **{**QUICK, "min_count": 9})


@pytest.mark.parametrize("model", ["skipgram", "cbow", "glove"])
def test_two_words_are_enough(model):
    vectors = words.train([["a", "b"]] * 3, model=model, **QUICK)
    assert set(vectors.words) == {"a", "b"}
    assert np.isfinite(vectors.matrix).all()


def test_sentences_of_one_word_teach_glove_nothing():
    with pytest.raises(TrainingError, match="nothing to learn from"):
        words.train([["a"], ["b"]], model="glove", **QUICK)


def test_a_rate_that_diverges_is_told(language):
    with pytest.raises(FeedlineError, match=r"diverged.*smaller"):
        words.train(language, model="glove", eta=10.0, x_max=1e-6, **QUICK)


def test_unicode_words(tmp_path):
    path = tmp_path / "u.txt"
    path.write_text("größe 漢字 naïve 😀 größe\n" * 20, encoding="utf-8")
    vectors = words.train(
        path, out=tmp_path / "o", min_n=2, max_n=3, bucket=99, **QUICK
    )
    assert "漢字" in words.load(tmp_path / "o")
    assert vectors["größer"].shape == (16,)


# The parts ----------------------------------------------------------------------


def test_blocks_cover_all_and_end_with_sentences():
    draw = np.random.default_rng(0)
    arrays = []
    for size in (100_000, 1, 700):
        ids = draw.integers(0, 9, size).astype(np.int32)
        ids[draw.random(size) < 0.02] = -1
        arrays.append(ids)
    made = spans.cut(arrays)
    for number, array in enumerate(arrays):
        own = [(start, stop) for which, start, stop in made if which == number]
        assert own[0][0] == 0
        assert own[-1][1] == len(array)
        for (_, stop), (start, _) in itertools.pairwise(own):
            assert stop == start
            assert array[stop - 1] == -1


def test_a_sentence_without_end_is_cut():
    made = spans.cut([np.zeros(1_000_000, np.int32)])
    assert max(stop - start for _, start, stop in made) <= spans.LARGEST


def test_cooccurrences_are_those_of_the_text(tmp_path, monkeypatch):
    """Small tables, so that runs are written, merged and dealt out."""
    monkeypatch.setattr(cooccurrence, "_DENSE", 10)
    monkeypatch.setattr(cooccurrence, "BLOCK", 256)
    monkeypatch.setattr(cooccurrence, "_STEP", 1000)
    draw = np.random.default_rng(1)
    tokens = (draw.zipf(1.3, 8000) % 300).astype(np.int32)
    tokens[draw.random(8000) < 0.05] = -1
    wanted: dict[tuple[int, int], float] = {}
    for at, word in enumerate(tokens.tolist()):
        for back in range(1, 5):
            other = int(tokens[at - back]) if at >= back else -1
            if word < 0 or other < 0:
                break
            pair = min(word, other), max(word, other)
            share = (2 if word == other else 1) / back
            wanted[pair] = wanted.get(pair, 0.0) + share
    found = cooccurrence.count(
        [tokens],
        [(0, 0, 8000)],
        300,
        4,
        tmp_path,
        threads=1,
        seed=1,
        memory=1,
        source={"text": 1},
    )
    pairs = [tuple(pair) for pair in found.pairs.tolist()]
    assert len(set(pairs)) == len(pairs)
    counted = dict(zip(pairs, np.exp(found.logs).tolist(), strict=True))
    assert counted == pytest.approx(wanted, rel=1e-5)
    again = cooccurrence.count(
        [], [], 300, 4, tmp_path, threads=1, seed=1, source={"text": 1}
    )
    assert np.array_equal(again.pairs, found.pairs)
