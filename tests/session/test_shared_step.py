"""A fit's own train function, traced for the experiments and not again for the fit,
unless what the fit would meet is not the same any more."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from feedline.job.loops.loop import Run
from feedline.job.loops.step_state import is_untraced
from feedline.job.script.fits import acts_before_the_first_step
from feedline.measure.clock import SystemClock
from feedline.session.inprocess import bench

pytestmark = pytest.mark.tensorflow


class Plain(keras.Model):
    """Draws in a layer, from a generator of the layer's own."""

    def __init__(self):
        super().__init__()
        self.drop = keras.layers.Dropout(0.5)
        self.dense = keras.layers.Dense(1)

    def call(self, x, training=False):
        return self.dense(self.drop(x, training=training))


class DrawsFromTheGlobalGenerator(Plain):
    """Which is made where it is first needed: while the step is traced."""

    def train_step(self, data):
        x, y = data
        return super().train_step((x + keras.random.normal((2,)), y))


class DrawsFromAnOperation(Plain):
    def call(self, x, training=False):
        return self.dense(x + tf.random.normal((2,)))


def make(kind) -> tuple[keras.Model, tf.data.Dataset]:
    keras.utils.set_random_seed(5)
    model = kind()
    model.compile("adam", "mse")
    rng = np.random.default_rng(0)
    data = rng.random((32, 2), np.float32), rng.random((32, 1), np.float32)
    return model, tf.data.Dataset.from_tensor_slices(data).batch(8)


def experimented(kind, *, shared: bool):
    """The model just before the first step of its fit, after some experiments."""
    model, dataset = make(kind)
    model(next(iter(dataset))[0])
    model.make_train_function()
    before = model.train_function
    with bench(model, dataset, SystemClock(), None, shared=shared) as loop:
        loop.execute(Run("live", 3))
    return model, before


def test_it_is_traced_once_for_both():
    model, before = experimented(Plain, shared=True)
    assert model.train_function is before
    assert not is_untraced(before)


def test_it_is_left_alone_where_others_may_come_between():
    model, before = experimented(Plain, shared=False)
    assert model.train_function is before
    assert is_untraced(before)


@pytest.mark.parametrize("kind", [DrawsFromTheGlobalGenerator, DrawsFromAnOperation])
def test_one_whose_trace_or_state_would_be_another_is_made_anew(kind):
    model, before = experimented(kind, shared=True)
    assert model.train_function is not before
    assert is_untraced(model.train_function)


@pytest.mark.parametrize(
    "kind", [Plain, DrawsFromTheGlobalGenerator, DrawsFromAnOperation]
)
def test_the_fit_trains_what_it_trains_by_itself(kind):
    """What is drawn, and what is named, after it is the same too."""

    def after(experiments: bool):
        model, dataset = make(kind)

        class Experiments(keras.callbacks.Callback):
            def on_train_begin(self, logs=None):
                if experiments:
                    with bench(
                        model, dataset, SystemClock(), None, shared=True
                    ) as loop:
                        loop.execute(Run("live", 3))

        model.fit(dataset, epochs=2, verbose=0, callbacks=[Experiments()])
        drawn = keras.random.normal((3,)), tf.random.normal((3,))
        return [*model.get_weights(), *map(np.asarray, drawn)]

    for one, two in zip(after(False), after(True), strict=True):
        assert one.tobytes() == two.tobytes()


def test_whose_callbacks_act_before_the_first_step():
    class Freezes(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            self.model.layers[0].trainable = epoch > 2

    class Tells(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            print(epoch)

    rate = keras.callbacks.LearningRateScheduler(lambda epoch: 0.1 / (epoch + 1))
    started = keras.callbacks.LambdaCallback(on_epoch_begin=lambda *_: None)
    assert not acts_before_the_first_step(None)
    assert not acts_before_the_first_step([Tells(), rate])
    assert acts_before_the_first_step([Tells(), Freezes()])
    assert acts_before_the_first_step(keras.callbacks.CallbackList([Freezes()]))
    assert acts_before_the_first_step(started)
