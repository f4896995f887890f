"""Plain SGD and Adagrad: every weight and accumulator as Keras', bit for bit."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
from tests.rows.build import (
    EXACT,
    OPTIMIZERS,
    WAYS,
    WIDTH,
    WORDS,
    assert_same,
    batches,
    both,
    classifier,
    state,
    train,
)

from feedline.rows import install

pytestmark = pytest.mark.tensorflow


SLOW_ADAGRAD = ("sgd", pytest.param("adagrad", marks=pytest.mark.slow))


@pytest.mark.parametrize(
    ("name", "way"),
    [
        *[(name, way) for name in EXACT for way in ("graph", "eager")],
        ("sgd", "xla"),
        pytest.param("adagrad", "xla", marks=pytest.mark.slow),
    ],
)
def test_bit_for_bit(name, way):
    plain, ours, installed = both(
        lambda: classifier(OPTIMIZERS[name](), **WAYS[way]), batches(), lazy=False
    )
    assert installed.exact
    assert installed.tables == ("words",)
    assert installed.difference is None
    assert_same(state(ours), state(plain))


@pytest.mark.parametrize("name", SLOW_ADAGRAD)
@pytest.mark.parametrize(
    "more",
    [
        {"clipnorm": 0.01},
        {"clipvalue": 0.001},
        {"weight_decay": 0.1},
    ],
    ids=str,
)
def test_clipping_is_keras_own(name, more):
    def make():
        optimizer = OPTIMIZERS[name](**more)
        model = classifier(optimizer, run_eagerly=True)
        optimizer.exclude_from_weight_decay(var_list=[model.layers[0].embeddings])
        return model

    plain, ours, installed = both(make, batches(), lazy=False)
    assert installed.exact
    assert_same(state(ours), state(plain))


def test_many_ids_in_the_order_of_the_batch():
    """TensorFlow would add up more than a thousand slices on several threads."""
    x, _ = batches(1, rows=600)[0]
    gradients = np.random.default_rng(1).normal(size=(x.size, WIDTH)).astype("float32")
    start = np.zeros((WORDS, WIDTH), "float32")
    table = keras.Variable(start)
    optimizer = keras.optimizers.SGD(1.0)
    install(table, optimizer=optimizer)
    slices = tf.IndexedSlices(gradients, x.ravel(), start.shape)
    optimizer.apply([slices], [table])
    for row, gradient in zip(x.ravel(), gradients, strict=True):
        start[row] -= gradient
    np.testing.assert_array_equal(table.numpy(), start)


def test_schedule_and_several_steps_per_execution():
    rate = keras.optimizers.schedules.ExponentialDecay(0.1, 1, 0.5)
    x, y = (np.concatenate(part) for part in zip(*batches(6), strict=True))
    models = []
    for by_rows in (False, True):
        model = classifier(keras.optimizers.Adagrad(rate), steps_per_execution=3)
        if by_rows:
            install(model, lazy=False)
        model.fit(x, y, batch_size=16, epochs=2, verbose=0, shuffle=False)
        models.append(state(model))
    assert_same(*models)


class Pair(keras.Model):
    """Not built before the first batch; one table is looked up twice."""

    def __init__(self):
        super().__init__()
        self.words = keras.layers.Embedding(WORDS, WIDTH, mask_zero=True, name="words")
        self.tags = keras.layers.Embedding(30, WIDTH, name="tags")
        self.mean = keras.layers.GlobalAveragePooling1D()
        self.out = keras.layers.Dense(1)

    def call(self, ids):
        left, right = self.words(ids), self.words(ids[:, ::-1] + 3)
        pooled = self.mean(left) - self.mean(right * self.tags(ids % 30))
        return self.out(pooled)


@pytest.mark.parametrize("name", SLOW_ADAGRAD)
def test_unbuilt_model_with_shared_and_several_tables_and_a_mask(name):
    def make():
        keras.utils.set_random_seed(3)
        model = Pair()
        model.compile(optimizer=OPTIMIZERS[name](), loss="mse")
        return model

    plain, ours, installed = both(make, batches(), lazy=False)
    assert set(installed.tables) == {"words", "tags"}
    assert installed.exact
    assert_same(state(ours), state(plain))


def test_negative_and_float_ids_as_in_keras():
    data = [(x.astype("float32") - 10, y) for x, y in batches()]

    def make():
        keras.utils.set_random_seed(3)
        model = keras.Sequential(
            [
                keras.layers.Embedding(WORDS, WIDTH),
                keras.layers.Flatten(),
                keras.layers.Dense(1),
            ]
        )
        model.compile(optimizer="sgd", loss="mse")
        return model

    plain, ours, _ = both(make, data, lazy=False)
    assert_same(state(ours), state(plain))
    assert_same(
        [ours.predict(data[0][0], verbose=0)], [plain.predict(data[0][0], verbose=0)]
    )


@pytest.mark.parametrize("name", SLOW_ADAGRAD)
def test_goes_on_as_keras_after_remove(name):
    first, second = batches(3), batches(3, seed=5)
    plain, ours = (classifier(OPTIMIZERS[name]()) for _ in range(2))
    before = dict(vars(ours.layers[0])), set(vars(ours.optimizer))
    with install(ours, lazy=False):
        assert "call" in vars(ours.layers[0])
        train(ours, first)
    assert dict(vars(ours.layers[0])).keys() == before[0].keys()
    assert not set(vars(ours.optimizer)) & {"apply", "update_step", "_clip_gradients"}
    train(ours, second)
    train(plain, first + second)
    assert_same(state(ours), state(plain))


def test_a_traced_model_is_traced_again_in_the_middle_of_fit():
    """Installed by a callback while `fit` runs, and removed by another."""

    class Half(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            if epoch == 1:
                self.installed = install(self.model, lazy=False)
            if epoch == 2:
                self.installed.remove()

    x, y = (np.concatenate(part) for part in zip(*batches(3), strict=True))
    states = []
    for callbacks in ([], [Half()]):
        model = classifier(keras.optimizers.Adagrad(0.1))
        model.fit(
            x, y, batch_size=16, epochs=3, verbose=0, shuffle=False, callbacks=callbacks
        )
        states.append(state(model))
    assert_same(*states)
