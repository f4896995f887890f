"""What `rows` uses that is private in Keras and TensorFlow is where it is expected."""

from __future__ import annotations

import pytest

pytest.importorskip("tensorflow")

import keras
import tensorflow as tf

from feedline.rows import private

pytestmark = pytest.mark.tensorflow


def test_an_optimizer_is_as_expected():
    variable = keras.Variable([[1.0]])
    optimizer = keras.optimizers.AdamW()
    optimizer.build([variable])
    assert [name for name in private.RELIED_ON if not hasattr(optimizer, name)] == []
    assert private.variable_index(optimizer, variable) == 0
    assert private.var_key(optimizer, variable) is not None
    assert len(private.trained(optimizer)) == 1
    assert private.decays(optimizer, variable)
    assert private.strategy(optimizer) is not None


def test_a_layer_is_as_expected():
    layer = keras.layers.Embedding(3, 2)
    assert private.embeddings(layer) is None
    layer.build()
    assert tuple(private.embeddings(layer).shape) == (3, 2)
    assert layer in list(private.layers(keras.Sequential([layer])))


def test_a_copy_and_the_compiler_are_found():
    with tf.distribute.MirroredStrategy(["CPU:0"]).scope():
        copies = tf.Variable(1.0)
    assert float(private.copy_here(copies)) == 1.0
    assert not private.compiled_by_xla()

    @tf.function(jit_compile=True)
    def compiled():
        assert private.compiled_by_xla()
        return tf.constant(1)

    compiled()


def test_what_has_moved_is_said_with_the_file_to_change():
    with pytest.raises(AttributeError, match=r"Keras .* feedline/rows/private\.py"):
        private.trained(object())
