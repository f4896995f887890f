"""Vectors in the user's own model: look-up in graphs, layers, saved models."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from feedline.errors import (
    ClassifierError,
    OutputExists,
    UnknownWord,
    VectorsError,
)
from feedline.words.vectors.subwords import Subwords
from feedline.words.vectors.vectors import Vectors

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

pytestmark = pytest.mark.tensorflow

# What a vocabulary may hold and few programs expect.
HOSTILE = ("the", "größe", "漢字", "", "a\nb", "x" * 50_000, "[UNK]", " ", "a\0b")
ASKED = ["the", "größe", "", "a\nb", "x" * 50_000, "[UNK]", "a\0b"]
UNSEEN = ["unseen", "größer", "漢", "</s>", "x", "😀😀漢字"]


def made(words=HOSTILE, dim=6, subwords=None) -> Vectors:
    matrix = np.random.default_rng(0).normal(size=(len(words), dim)).astype(np.float32)
    return Vectors(tuple(words), matrix, None, {}, subwords)


def with_subwords(min_n=3, max_n=6) -> Vectors:
    rows = np.random.default_rng(1).normal(size=(997, 6)).astype(np.float32)
    return made(subwords=Subwords(rows, min_n, max_n))


# Look-up ----------------------------------------------------------------------


def test_words_of_any_shape_inside_a_function():
    vectors = made()

    @tf.function
    def total(words):
        return vectors.lookup(words)

    found = total(tf.constant([["the", "größe"], ["", "no"]]))
    np.testing.assert_array_equal(found[0], vectors.lookup(["the", "größe"]))
    np.testing.assert_array_equal(found[1, 0], vectors[""])
    np.testing.assert_array_equal(found[1, 1], np.zeros(6))
    assert total(tf.constant("the")).shape == (6,)
    assert total(tf.zeros([0], tf.string)).shape == (0, 6)


def test_ragged_words_and_a_dataset():
    vectors = made()
    ragged = vectors.lookup(tf.ragged.constant([["the"], ["größe", "漢字"]]))
    np.testing.assert_array_equal(ragged[1], vectors.matrix[1:3])
    dataset = tf.data.Dataset.from_tensor_slices(ASKED).batch(3).map(vectors.lookup)
    assert dataset.element_spec.shape == (None, 6)
    rows = np.concatenate(list(dataset.as_numpy_iterator()))
    np.testing.assert_array_equal(rows, vectors.lookup(ASKED))


@pytest.mark.parametrize("sizes", [(3, 6), (1, 2), (2, 2)])
def test_subwords_in_the_graph_are_those_of_python(sizes):
    vectors = with_subwords(*sizes)
    found = vectors.lookup(tf.constant([*ASKED, *UNSEEN]))
    expected = vectors.lookup([*ASKED, *UNSEEN])
    # The same rows are added, in another order.
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert np.abs(expected[len(ASKED)]).sum() > 0


def test_a_word_can_stand_for_the_unknown_ones():
    from feedline.words.vectors.graph import Lookup

    found = Lookup(with_subwords(), unknown="[UNK]")(tf.constant(["no", "the"]))
    np.testing.assert_array_equal(found, made().lookup(["[UNK]", "the"]))
    with pytest.raises(UnknownWord, match="unknown itself"):
        Lookup(made(), unknown="<unk>")


def test_vocabularies_that_no_table_can_hold():
    rows = np.ones((2, 3), np.float32)
    with pytest.raises(VectorsError, match="'a' is among the words twice"):
        Vectors(("a", "a"), rows).lookup(tf.constant(["a"]))
    with pytest.raises(VectorsError, match="UTF-8 has no bytes"):
        Vectors(("a", "\ud800"), rows).layer(strings=True)


# Layers -----------------------------------------------------------------------


def test_a_layer_of_numbers():
    vectors = made()
    layer = vectors.layer()
    np.testing.assert_array_equal(np.asarray(layer(np.array([2])))[0], vectors["漢字"])
    assert not layer.trainable
    assert vectors.layer(trainable=True, name="mine").name == "mine"


@pytest.mark.parametrize("kind", ["frozen", "trained", "by rows"])
def test_a_layer_of_words_in_a_model_of_ones_own(kind):
    from feedline import rows

    vectors = made()
    words = vectors.layer(trainable=kind != "frozen", strings=True)
    table = words.layers[-1]
    model = keras.Sequential(
        [
            keras.Input((None,), dtype="string"),
            words,
            keras.layers.GlobalAveragePooling1D(),
            keras.layers.Dense(1),
        ]
    )
    model.compile(optimizer=keras.optimizers.Adam(0.1), loss="mse")
    if kind == "by rows":
        assert rows.install(model).tables == (table.name,)
    before = np.array(table.get_weights()[0])
    np.testing.assert_array_equal(before[1:], vectors.matrix)
    x = tf.constant([["the", "größe"], ["the", "never"]])
    model.fit(x, tf.constant([[1.0], [0.0]]), epochs=3, verbose=0)
    changed = (np.array(table.get_weights()[0]) != before).any(axis=1)
    # Row 0 is for unknown words.
    expected = [] if kind == "frozen" else [0, 1, 2]
    assert np.flatnonzero(changed).tolist() == expected


# Saved ------------------------------------------------------------------------

# One process for all of them: to import TensorFlow takes longer than the rest.
ALONE = """
import sys
sys.modules["feedline"] = None  # importing it fails
import keras
import numpy as np
import tensorflow as tf

words, texts = {words!a}, {texts!a}
found = {{}}
model = keras.saving.load_model({keras!a})
found["v.keras"] = model(tf.constant([words])).numpy()[0]

model = tf.saved_model.load({savedmodel!a})
found["model"] = model.vectors(tf.constant(words)).numpy()
served = model.signatures["serving_default"](words=tf.constant([words]))
found["served"] = list(served.values())[0].numpy()[0]

model = tf.saved_model.load({classifier!a})
found["chances"] = model.probabilities(tf.constant(texts)).numpy()
served = model.signatures["serving_default"](texts=tf.constant(texts))
found["served chances"] = served["probabilities"].numpy()
found["labels"] = [name.decode() for name in model.labels().numpy()]
np.savez({out!a}, **found)
"""
PAIRS = [("Das ist not good", "nein"), ("THIS is not bad größe", "ja")] * 20
TEXTS = ["this is not good", "", "unseen", "Größe\tbad is\n is", "good das"]


@pytest.fixture(scope="module")
def classifier():
    from feedline.words import classify

    options = {"dim": 5, "epochs": 3, "threads": 1, "lower": True, "bucket": 50}
    return classify.train(PAIRS, word_ngrams=3, **options)


@pytest.fixture(scope="module")
def alone(tmp_path_factory, classifier):
    """What a process without feedline finds in the models that were saved."""
    place = tmp_path_factory.mktemp("alone")
    vectors = with_subwords()
    asked = [word for word in ASKED if len(word) < 100] + UNSEEN
    program = ALONE.format(
        words=asked,
        texts=TEXTS,
        keras=str(vectors.export(place / "v.keras")),
        savedmodel=str(vectors.export(place / "model", "savedmodel")),
        classifier=str(classifier.export(place / "classifier")),
        out=str(place / "found.npz"),
    )
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True)
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")[-2000:]
    with np.load(place / "found.npz") as found:
        return vectors, asked, dict(found)


@pytest.mark.parametrize("name", ["v.keras", "model"])
def test_a_saved_model_needs_tensorflow_alone(alone, name):
    vectors, asked, found = alone
    known = len(asked) - len(UNSEEN)
    rows = found[name]
    np.testing.assert_array_equal(rows[:known], vectors.lookup(asked[:known]))
    expected = vectors.lookup(UNSEEN) if name == "model" else np.zeros((6, 6))
    np.testing.assert_allclose(rows[known:], expected, rtol=1e-5, atol=1e-6)
    if name == "model":
        np.testing.assert_array_equal(found["served"], rows)


def test_a_classifier_needs_tensorflow_alone(alone, classifier):
    found = alone[2]
    assert found["labels"].tolist() == list(classifier.labels)
    expected = classifier.probabilities(TEXTS)
    np.testing.assert_allclose(found["chances"], expected, rtol=1e-5)
    np.testing.assert_array_equal(found["served chances"], found["chances"])


def test_a_classifier_replaces_nothing_and_has_no_pattern(tmp_path, classifier):
    from feedline.words import classify

    place = classifier.export(tmp_path / "model")
    with pytest.raises(OutputExists):
        classifier.export(place)
    pattern = classify.train(PAIRS, dim=2, epochs=1, pattern=r"\w+")
    with pytest.raises(ClassifierError, match="pattern"):
        pattern.export(tmp_path / "other")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_saved_model_replaces_only_its_like(tmp_path):
    place = tmp_path / "model"
    made().export(place, "savedmodel")
    with pytest.raises(OutputExists, match="--force"):
        made().export(place, "savedmodel")
    made(("other",)).export(place, "savedmodel", force=True)
    model = tf.saved_model.load(str(place))
    assert (model.vectors(tf.constant(["the"])).numpy() == 0).all()
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_bytes(b"years of work")
    with pytest.raises(OutputExists, match="something else"):
        made().export(tmp_path / "mine", "savedmodel", force=True)
    with pytest.raises(VectorsError, match="no directory"):
        made().export(tmp_path / "no" / "model", "savedmodel")


def test_a_model_that_cannot_be_written_leaves_nothing(tmp_path):
    twice = Vectors(("a", "a"), np.ones((2, 2), np.float32))
    for name, kind in (("v.keras", "keras"), ("model", "savedmodel")):
        with pytest.raises(VectorsError, match="twice"):
            twice.export(tmp_path / name, kind)
    assert list(tmp_path.iterdir()) == []
