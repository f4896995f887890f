"""The classifier: its arithmetic, what it learns, and what it is saved as."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.words.labelled import TOPICS, descend, lines, planted

from feedline.errors import ClassifierError, CorpusError, OutputExists, TrainingError
from feedline.words import Vectors, classify
from feedline.words.classify import bags, kernel
from feedline.words.classify.classifier import Classifier, blank_outputs
from feedline.words.engine.simd import WIDTH
from feedline.words.engine.weights import blank, depth_of


def texts_of(lists) -> bags.Texts:
    offsets = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    flat = [number for one in lists for number in one]
    return bags.Texts(offsets, np.array(flat, np.int32))


def run_kernel(bag, labels, x, w, order, rate, slope, hot=0):
    """One call of the kernel on copies; the rows afterwards, and the loss."""
    rows, dim = x.shape
    inputs, outputs = blank(rows + hot, dim, WIDTH), blank_outputs(len(w), dim)
    inputs[:rows, :dim] = x
    outputs[: len(w), :dim] = w
    loss = kernel.train(
        np.array(order, np.int64),
        *(bag.offsets, bag.ids, labels.offsets, labels.ids),
        *(inputs.reshape(-1), outputs.reshape(-1), inputs.shape[1]),
        *(depth_of(dim, WIDTH), len(w), bag.widest, rate, slope, hot, rows),
    )
    assert not inputs[:, dim:].any()
    assert not outputs[len(w) :].any()
    return inputs[:rows, :dim], outputs[: len(w), :dim], loss


# The arithmetic ---------------------------------------------------------------


def test_two_steps_worked_by_hand():
    # Rows 1 and 3 have the mean 2. At first both labels have a probability of 1/2:
    # the outputs move by 1/2 * 2 = 1 and -1, the inputs by nothing. Then the scores
    # are 2 and -2, and the wrong label has 1 / (1 + e^4).
    bag, labels = texts_of([[0, 1]]), texts_of([[0]])
    x, w = np.array([[1.0], [3.0]]), np.zeros((2, 1))
    found = run_kernel(bag, labels, x, w, [0, 0], 1.0, 0.0)
    wrong = 1 / (1 + math.exp(4))
    np.testing.assert_allclose(found[0], [[1 + wrong], [3 + wrong]], rtol=1e-6)
    np.testing.assert_allclose(found[1][:, 0], [1 + 2 * wrong, -1 - 2 * wrong], 1e-6)
    assert found[2] == pytest.approx(math.log(2) - math.log(1 - wrong), rel=1e-6)


@pytest.mark.parametrize(("dim", "classes"), [(1, 2), (5, 3), (17, 6), (100, 13)])
@pytest.mark.parametrize("hot", [0, 7, 30])
def test_the_kernel_is_plain_gradient_descent(dim, classes, hot):
    draw = np.random.default_rng(dim)
    rows = 30
    lists = [draw.integers(rows, size=draw.integers(1, 12)) for _ in range(40)]
    wanted = [
        sorted(set(draw.integers(classes, size=draw.integers(1, 3)).tolist()))
        for _ in lists
    ]
    x = draw.normal(size=(rows, dim)) / 2
    w = draw.normal(size=(classes, dim)) / 2
    order = draw.permutation(np.repeat(np.arange(40), 2))
    args = (x, w, order, 0.3, 0.3 / 80)
    found = run_kernel(texts_of(lists), texts_of(wanted), *args, hot)
    expected = descend(lists, wanted, *args)
    np.testing.assert_allclose(found[0], expected[0], rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(found[1], expected[1], rtol=2e-4, atol=2e-5)
    assert found[2] == pytest.approx(expected[2], rel=1e-4)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 6), max_size=7), min_size=1, max_size=6),
    st.integers(1, 4),
    st.sampled_from([1, 7, 100_000]),
)
def test_bags_are_words_the_end_and_ngrams(lists, sizes, buckets):
    texts = texts_of(lists)
    used = bags.used_buckets(texts, sizes, buckets)
    bag = bags.bags(texts, 7, sizes, bags.slots_of(used, buckets))
    rows: dict[tuple[int, ...], set[int]] = {}
    for i, one in enumerate(lists):
        found = bag.ids[bag.offsets[i] : bag.offsets[i + 1]].tolist()
        whole = [word + 1 for word in one]
        assert found[: len(one) + 1] == [0, *whole]
        whole.append(0)
        grams = [
            tuple(whole[at : at + size])
            for at in range(len(whole))
            for size in range(2, sizes + 1)
            if at + size <= len(whole)
        ]
        assert len(found) == len(whole) + len(grams)
        for gram, row in zip(grams, found[len(whole) :], strict=True):
            assert 7 < row <= 7 + len(used)
            rows.setdefault(gram, set()).add(row)
    assert all(len(one) == 1 for one in rows.values())
    if buckets > 1000:  # hardly any collisions
        assert len({min(one) for one in rows.values()}) >= len(rows) - 1


def test_ngrams_that_were_never_seen_are_left_out():
    seen = texts_of([[0, 1]])
    used = bags.used_buckets(seen, 2, 1000)
    bag = bags.bags(texts_of([[1, 0]]), 2, 2, bags.slots_of(used, 1000))
    assert bag.ids.tolist() == [0, 2, 1]


# What is learnt ---------------------------------------------------------------


@pytest.fixture(scope="module")
def trained() -> Classifier:
    return classify.train(planted(), dim=10, threads=1, word_ngrams=2)


@pytest.mark.parametrize("threads", [1, 2])
def test_topics_are_told_apart_though_the_texts_are_sorted(threads):
    made = classify.train(planted(), dim=10, threads=threads)
    scores = made.test(planted(seed=1))
    assert scores.accuracy > 0.94
    assert scores.precision == scores.recall == scores.accuracy
    assert made.about["losses"][-1] < made.about["losses"][0]
    assert sorted(made.labels) == sorted(TOPICS)


def test_only_ngrams_know_the_order_of_words():
    pairs = [("not good but bad", "no"), ("not bad but good", "yes")] * 40
    both = classify.train(pairs, dim=8, threads=1, word_ngrams=2)
    assert both.test(pairs).accuracy == 1.0
    blind = classify.train(pairs, dim=8, threads=1)
    a, b = blind.probabilities([pairs[0][0], pairs[1][0]])
    np.testing.assert_allclose(a, b, rtol=1e-5)


def test_a_seed_gives_the_same_classifier(trained):
    again = classify.train(planted(), dim=10, threads=1, word_ngrams=2)
    np.testing.assert_array_equal(trained.inputs, again.inputs)
    np.testing.assert_array_equal(trained.outputs, again.outputs)
    other = classify.train(planted(), dim=10, threads=1, word_ngrams=2, seed=2)
    assert (other.inputs != again.inputs).any()


def test_texts_with_several_labels():
    pairs = [("red apple", ["red", "fruit"]), ("blue car", ["blue"])] * 50
    made = classify.train(pairs, dim=8, threads=1)
    (best,) = made.predict("red apple", k=2)
    assert {name for name, _ in best} == {"red", "fruit"}
    assert all(chance == pytest.approx(0.5, abs=0.1) for _, chance in best)
    assert made.predict(["red apple"], k=3, threshold=0.9) == [[]]
    scores = made.test(pairs, k=3, threshold=0.25)
    assert (scores.precision, scores.recall, scores.accuracy) == (1.0, 1.0, 1.0)
    assert made.test(pairs).recall == pytest.approx(2 / 3)


def test_probabilities_and_predictions_are_one(trained):
    texts = [text for text, _ in planted(50, seed=3)]
    chances = trained.probabilities(texts)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-5)
    for row, found in zip(chances, trained.predict(texts, k=5), strict=True):
        assert [name for name, _ in found] == [
            trained.labels[i] for i in np.argsort(-row, kind="stable")
        ]
        np.testing.assert_allclose([p for _, p in found], np.sort(row)[::-1])
    # One at a time comes out as all at once.
    assert trained.predict(texts[0]) == trained.predict(texts)[:1]
    assert trained.predict([]) == []
    # Without a known word only the end of the text speaks.
    nothing, unknown = trained.predict(["", "never seen"])
    assert nothing == unknown


def test_words_are_cut_in_prediction_as_in_training():
    pairs = [("GOOD, good!", "yes"), ("Bad; bad?", "no")] * 20
    made = classify.train(pairs, dim=4, threads=1, lower=True, pattern=r"\w+")
    assert made.words == ("bad", "good")
    assert made.predict("(Good)")[0][0][0] == "yes"
    assert made.vectors().words == ("bad", "good")


def test_pretrained_vectors_reach_words_that_were_not_in_the_texts():
    one, other = np.eye(2, 6, dtype=np.float32) * 3
    rows = np.stack([one, other, one, one, one])
    vectors = Vectors(("good", "bad", "fine", "", "a b"), rows)
    pairs = [("good", "yes"), ("bad", "no")] * 20
    made = classify.train(pairs, pretrained=vectors, threads=1)
    assert made.options.dim == 6
    assert made.words == ("bad", "good", "fine")
    assert made.predict("fine")[0][0][0] == "yes"
    np.testing.assert_array_equal(made.inputs[3], one)
    with pytest.raises(TrainingError, match="dim is 5"):
        classify.train(pairs, pretrained=vectors, dim=5)


def test_options_that_cannot_be():
    for options, message in [
        ({"dim": 0}, "dim is 0"),
        ({"lr": float("nan")}, "lr is nan"),
        ({"word_ngrams": 0}, "word_ngrams is 0"),
        ({"bucket": 0}, "bucket is 0"),
        ({"epochs": "5"}, "epochs is '5'"),
    ]:
        with pytest.raises(TrainingError, match=message):
            classify.train(planted(9), **options)
    with pytest.raises(TypeError, match=r"train\(\) got an unexpected.*'loss'"):
        classify.train(planted(9), loss="ova")
    with pytest.raises(CorpusError, match="no word is left"):
        classify.train(planted(9), min_count=1000)
    with pytest.raises(CorpusError, match="all texts have the label 'a'"):
        classify.train([("x", "a"), ("y", "a")])
    with pytest.raises(CorpusError, match="nothing to learn from"):
        classify.train([("", "a"), (" ", "b")])
    with pytest.raises(ClassifierError, match="k of 1 or more"):
        classify.train(planted(9), epochs=1).predict("x", k=0)


# Scores -----------------------------------------------------------------------


def test_scores_worked_by_hand():
    # Two labels by one word each; the row of the end, the first, is zero.
    made = Classifier(
        ("a", "b"),
        ("A", "B"),
        np.array([[0, 0], [9, 0], [0, 9]], np.float32),
        np.eye(2, dtype=np.float32),
        np.empty(0, np.int32),
        classify.Options(dim=2, word_ngrams=1),
        np.array([1, 1]),
        np.array([1, 1]),
    )
    scores = made.test([("a", "A"), ("b", "A"), ("b", ["B", "A"]), ("b", "C")])
    assert (scores.texts, scores.unknown) == (4, 1)
    by_name = {row.name: row for row in scores.labels}
    assert (by_name["A"].texts, by_name["A"].found, by_name["A"].right) == (3, 1, 1)
    assert (by_name["B"].texts, by_name["B"].found, by_name["B"].right) == (1, 3, 1)
    assert scores.accuracy == 2 / 4
    assert scores.precision == 2 / 4
    assert scores.recall == 2 / 5
    assert by_name["A"].f1 == 2 * 1 / 4


# Saved ------------------------------------------------------------------------


def test_what_is_saved_comes_back(trained, tmp_path):
    trained.save(tmp_path / "c")
    assert sorted(path.name for path in (tmp_path / "c").iterdir()) == [
        "classifier.json",
        "classifier.safetensors",
        "vocabulary.txt",
    ]
    back = classify.load(tmp_path / "c")
    assert (back.words, back.labels) == (trained.words, trained.labels)
    assert back.options == trained.options
    assert dict(back.about) == dict(trained.about)
    texts = [text for text, _ in planted(30, seed=5)]
    np.testing.assert_array_equal(
        back.probabilities(texts), trained.probabilities(texts)
    )
    with pytest.raises(OutputExists, match="--force"):
        trained.save(tmp_path / "c")
    trained.save(tmp_path / "c", force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


@pytest.mark.parametrize(
    "name", ["classifier.json", "classifier.safetensors", "vocabulary.txt"]
)
@pytest.mark.parametrize("harm", ["gone", "cut", "empty", "flipped"])
def test_a_damaged_directory_is_told(trained, tmp_path, name, harm):
    file = trained.save(tmp_path / "c") / name
    data = bytearray(file.read_bytes())
    if harm == "gone":
        file.unlink()
    else:
        data[len(data) // 2] ^= 0x11
        cut = {"cut": len(data) // 2, "empty": 0, "flipped": len(data)}[harm]
        file.write_bytes(data[:cut])
    if (name, harm) == ("classifier.json", "flipped"):
        return  # it may still be JSON; test_lies does this on purpose
    with pytest.raises(ClassifierError, match="cannot read"):
        classify.load(tmp_path / "c")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 99}, "schema is 99"),
        ({"words": 3}, "words, not 3"),
        ({"labels": [["a", 1]]}, "shape"),
        ({"labels": 5}, "damaged"),
        ({"options": {"dim": 10**9}}, "dim is 1000000000"),
        ({"options": {"bucket": 1, "dim": 10}}, "buckets of n-grams"),
        ({"options": {"unheard": 1}}, "damaged"),
        ({"mark": "other"}, "two savings"),
    ],
)
def test_lies(trained, tmp_path, change, message):
    place = trained.save(tmp_path / "c") / "classifier.json"
    about = {**json.loads(place.read_bytes()), **change}
    place.write_text(json.dumps(about), encoding="utf-8")
    with pytest.raises(ClassifierError, match=message):
        classify.load(tmp_path / "c")


def test_no_directory_at_all(tmp_path):
    with pytest.raises(ClassifierError, match=r"classifier\.json: No such file"):
        classify.load(tmp_path / "none")


@pytest.mark.slow
def test_it_is_as_good_as_fasttext(tmp_path):
    fasttext = pytest.importorskip("fasttext")
    draw = np.random.default_rng(0)
    made = planted(2000)
    pairs = [made[i] for i in draw.permutation(2000)]
    (tmp_path / "train.txt").write_text(lines(pairs), "utf-8")
    (tmp_path / "test.txt").write_text(lines(planted(2000, seed=1)), "utf-8")
    theirs = fasttext.train_supervised(
        str(tmp_path / "train.txt"), epoch=10, lr=0.5, wordNgrams=2, verbose=0
    )
    mine = classify.train(tmp_path / "train.txt", epochs=10, lr=0.5, word_ngrams=2)
    expected = theirs.test(str(tmp_path / "test.txt"))[1]
    assert mine.test(tmp_path / "test.txt").accuracy >= expected - 0.01
