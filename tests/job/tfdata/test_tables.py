"""Tables in a map's function: filled once, or open to writers."""

from __future__ import annotations

import keras
import tensorflow as tf

from feedline.fixes import conditions
from feedline.job.tfdata.constant import why_not_same
from feedline.job.tfdata.pipeline import Function, Stage
from feedline.job.tfdata.read import read

WORDS = tf.data.Dataset.from_tensor_slices(["a b", "b c", "c d e"])


def mapped(dataset: tf.data.Dataset) -> Stage:
    return read(dataset).root


def function(dataset: tf.data.Dataset) -> Function:
    (found,) = mapped(dataset).functions
    return found


def test_an_adapted_layer_may_run_anywhere() -> None:
    vectorize = keras.layers.TextVectorization(10, output_sequence_length=4)
    vectorize.adapt(WORDS.batch(2))
    data = WORDS.map(lambda text: (vectorize(text), 1))
    assert not function(data).reads
    conditions.sure(mapped(data))
    assert not why_not_same(mapped(data))


def test_a_layer_that_was_adapted_again_is_left_alone() -> None:
    vectorize = keras.layers.TextVectorization(10, output_sequence_length=4)
    vectorize.adapt(WORDS.batch(2))
    data = WORDS.map(vectorize)
    vectorize.adapt(tf.constant(["x y z"]))
    assert function(data).reads


def test_a_lookup_layer_and_a_static_table() -> None:
    layer = keras.layers.StringLookup(vocabulary=["a", "b"])
    assert not function(WORDS.map(lambda text: layer(tf.strings.split(text)))).reads
    filled = tf.lookup.KeyValueTensorInitializer(["a b"], tf.constant([7], tf.int64))
    table = tf.lookup.StaticVocabularyTable(filled, 1)
    assert not function(WORDS.map(table.lookup)).reads


def test_a_table_that_can_be_written_to() -> None:
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    assert function(WORDS.map(table.lookup)).reads


def test_a_variable_beside_a_table() -> None:
    layer = keras.layers.StringLookup(vocabulary=["a", "b"])
    variable = tf.Variable(1, dtype=tf.int64)
    data = WORDS.map(lambda text: layer(text) + variable)
    assert function(data).reads
