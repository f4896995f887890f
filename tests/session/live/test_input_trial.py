"""The input of a loop, tried between two steps of its training: nothing can be told,
and what is read instead from the next pass on gives the same elements."""

from __future__ import annotations

import random

import keras
import numpy as np
import pytest
import tensorflow as tf

from feedline.errors import CannotPutBack
from feedline.job.loops.loop import CannotRun
from feedline.job.loops.python import PythonLoop
from feedline.job.script.watch import Watch
from feedline.job.tfdata.read import read
from feedline.measure.clock import SystemClock
from feedline.session.live.input_trial import InputTrial, function_step, waits
from feedline.session.plans.stand_ins import tuned

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.filterwarnings("ignore::UserWarning:keras"),
]


def slow(x, y):
    for _ in range(40):
        x = tf.linalg.matmul(x, tf.transpose(x)) / 100.0 @ x / 100.0 + 0.5
    return x[0], y


def data(*, shuffled):
    x = np.random.default_rng(0).standard_normal((48, 12, 12)).astype("float32")
    ds = tf.data.Dataset.from_tensor_slices((x, np.arange(48) % 3))
    if shuffled:
        ds = ds.shuffle(48, seed=4)
    return ds.map(slow).batch(8)


class Job:
    """A loop of a script's own, after its first pass over the data."""

    def __init__(self, *, shuffled=False, drawing=False):
        keras.utils.set_random_seed(3)
        self.ds = data(shuffled=shuffled)
        self.model = keras.Sequential([keras.Input((12,)), keras.layers.Dense(3)])
        self.optimizer = keras.optimizers.Adam(0.01)
        self.optimizer.build(self.model.trainable_variables)

        @tf.function
        def step(x, y):
            if drawing:
                x += tf.random.normal(tf.shape(x))
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self.model(x) - tf.one_hot(y, 3)) ** 2)
            gradients = tape.gradient(loss, self.model.trainable_variables)
            self.optimizer.apply_gradients(
                zip(gradients, self.model.trainable_variables, strict=True)
            )
            return loss

        self.step = step
        self.losses = []
        self.train(self.ds)

    def train(self, dataset):
        for batch in dataset:
            self.last = batch
            self.losses.append(float(self.step(*batch)))

    def loop(self):
        loop = PythonLoop(None, SystemClock())
        loop.reads(self.ds, None)  # another iterator would move a shuffle on
        loop.step_function, loop.last_call = self.step, (tuple(self.last), {})
        loop.periods, loop.waits = [0.01] * 8, [0.008] * 8
        loop.epochs = 4
        return loop

    def searched(self):
        loop = self.loop()
        watch = Watch(loop.clock, lambda _: None)
        watch.read_already.add(self.ds)
        pipeline = read(self.ds).numbered()
        step = function_step(loop)
        return InputTrial(
            loop, watch, step, pipeline, ("exact",), 3.0, None, 8, lambda _: None
        ).search()

    def seen(self):
        variables = (*self.model.variables, *self.optimizer.variables)
        return (
            self.losses,
            [v.numpy().tolist() for v in variables],
            [random.random(), float(np.random.rand()), float(tf.random.normal([]))],
        )


@pytest.mark.parametrize("shuffled", [False, True])
def test_nothing_can_be_told(shuffled):
    plain = Job(shuffled=shuffled)
    plain.train(plain.ds)
    plain.train(plain.ds)
    expected = plain.seen()
    job = Job(shuffled=shuffled)
    found, measured, cured = job.searched()
    assert found.pipeline is not None
    assert measured.step.observed.value > 0
    assert measured.stages
    read_instead = tuned(job.ds, cured.edits) if cured.edits else job.ds
    job.train(read_instead)
    job.train(read_instead)
    assert job.seen() == expected


def test_a_step_that_draws_is_not_made_again():
    with pytest.raises(CannotPutBack, match="draws"):
        function_step(Job(drawing=True).loop())


def test_a_step_that_nobody_knows_is_not_made_again():
    loop = Job().loop()
    loop.last_call = None
    with pytest.raises(CannotRun):
        function_step(loop)


def test_a_loop_that_has_its_batches_ready_is_left_alone():
    loop = PythonLoop(None, SystemClock())
    assert not waits(loop)
    loop.periods, loop.waits = [0.01] * 4, [0.0001] * 4
    assert not waits(loop)
    loop.waits = [0.005] * 4
    assert waits(loop)
