"""What cannot be updated by rows is left to Keras, and said so."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
from tests.rows.build import (
    OPTIMIZERS,
    WIDTH,
    WORDS,
    assert_close,
    assert_same,
    batches,
    classifier,
    state,
    train,
)

from feedline.errors import FeedlineError
from feedline.rows import CannotInstall, install

pytestmark = pytest.mark.tensorflow


class Louder(keras.layers.Embedding):
    def call(self, inputs):
        return 2 * super().call(inputs)


class Named(keras.layers.Embedding):
    """A subclass that looks up as Keras does."""


def lora():
    layer = keras.layers.Embedding(WORDS, WIDTH)
    layer.build()
    layer.enable_lora(2)
    return layer


def quantised():
    layer = keras.layers.Embedding(WORDS, WIDTH)
    layer.build()
    layer.quantize("int8")
    return layer


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        (
            lambda: keras.layers.Embedding(40, 6, embeddings_regularizer="l2"),
            "every row",
        ),
        (
            lambda: keras.layers.Embedding(40, 6, embeddings_constraint="unit_norm"),
            "constraint",
        ),
        (lambda: keras.layers.Embedding(40, 6, trainable=False), "not trainable"),
        (lambda: Louder(40, 6), "Louder looks up in its own way"),
        (lora, "LoRA"),
        (quantised, "quantised"),
    ],
    ids=["regularizer", "constraint", "frozen", "subclass", "lora", "quantised"],
)
def test_such_a_table_is_left(layer, reason):
    model = classifier("sgd", layer())
    with pytest.raises(CannotInstall, match=reason):
        install(model)
    assert "call" not in vars(model.layers[0])
    assert "apply" not in vars(model.optimizer)
    assert issubclass(CannotInstall, FeedlineError)


def test_a_left_table_beside_one_that_is_not():
    """The one that is left trains as in Keras, sparse gradient and all."""

    def make():
        keras.utils.set_random_seed(4)
        ids = keras.Input((5,), dtype="int32")
        loud, plain = (
            Louder(WORDS, WIDTH, name="loud"),
            Named(WORDS, WIDTH, name="plain"),
        )
        mean = keras.layers.GlobalAveragePooling1D()(loud(ids) + plain(ids))
        model = keras.Model(ids, keras.layers.Dense(1)(mean))
        model.compile(optimizer=OPTIMIZERS["adam"](), loss="mse")
        return model

    dense, ours = make(), make()
    installed = install(ours)
    assert installed.tables == ("plain",)
    assert set(installed.left) == {"loud"}
    train(dense, batches(1))
    train(ours, batches(1))
    assert_same(state(ours), state(dense))
    train(dense, batches(2, seen=3))
    train(ours, batches(2, seen=3))
    loud, plain = (model.get_layer("plain") for model in (dense, ours))
    assert (loud.get_weights()[0] != plain.get_weights()[0]).any()


class Tied(keras.Model):
    """The table is its output layer too: its gradient is dense."""

    def __init__(self):
        super().__init__()
        self.words = keras.layers.Embedding(WORDS, WIDTH, name="words")
        self.mean = keras.layers.GlobalAveragePooling1D()

    def call(self, ids):
        mean = self.mean(self.words(ids))
        return keras.ops.matmul(mean, keras.ops.transpose(self.words.embeddings))


@pytest.mark.parametrize("name", ["sgd", "adamw"])
def test_tied_weights_train_as_in_keras(name):
    data = [(x, x[:, 0]) for x, _ in batches()]
    states = []
    for by_rows in (False, True):
        keras.utils.set_random_seed(2)
        model = Tied()
        model.compile(
            optimizer=OPTIMIZERS[name](),
            loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        )
        if by_rows:
            installed = install(model)
            assert installed.dense == ()
        train(model, data)
        states.append(state(model))
    assert installed.dense == ("words",)
    assert_same(*states)


def test_ragged_ids_go_to_keras():
    layer = keras.layers.Embedding(WORDS, WIDTH)
    ids = tf.ragged.constant([[1, 2, 2], [3]])
    before = layer(ids)
    install(layer, optimizer=keras.optimizers.SGD())
    np.testing.assert_array_equal(layer(ids).to_tensor(), before.to_tensor())


class Halved(keras.optimizers.Adam):
    def update_step(self, gradient, variable, learning_rate):
        super().update_step(gradient, variable, learning_rate / 2)


class Renamed(keras.optimizers.Adam):
    """As Keras' own in all that counts."""


@pytest.mark.parametrize(
    ("optimizer", "reason"),
    [
        (keras.optimizers.Lion, "not known"),
        (Halved, "update_step of its own"),
        (lambda: keras.optimizers.Adam(use_ema=True), "use_ema"),
        (lambda: keras.optimizers.Adam(gradient_accumulation_steps=2), "accumulation"),
    ],
    ids=["unknown", "overridden", "ema", "accumulation"],
)
def test_such_an_optimizer_is_left(optimizer, reason):
    with pytest.raises(CannotInstall, match=reason):
        install(classifier(optimizer()))


def test_bad_usage_is_said():
    model = classifier("adam")
    with install(model), pytest.raises(CannotInstall, match="already"):
        install(model)
    with pytest.raises(CannotInstall, match="optimizer is not known"):
        install(keras.layers.Embedding(3, 2))
    with pytest.raises(CannotInstall, match="neither a Keras model"):
        install(["words"], optimizer=keras.optimizers.SGD())
    with pytest.raises(CannotInstall, match="compile"):
        install(keras.Sequential([keras.layers.Embedding(3, 2)]))
    with pytest.raises(CannotInstall, match="no Embedding"):
        install(keras.layers.Dense(2), optimizer=keras.optimizers.SGD())


def test_a_subclass_without_a_step_of_its_own_is_taken():
    model = classifier(Renamed(0.01))
    installed = install(model)
    train(model, batches(1))
    assert installed.tables == ("words",)
    twin = classifier(Renamed(0.01))
    train(twin, batches(1))
    assert_close(state(model), state(twin))
