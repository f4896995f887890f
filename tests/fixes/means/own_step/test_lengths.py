"""Numbers made of open lengths, and where they may meet others."""

from __future__ import annotations

import pytest
import tensorflow as tf

from feedline.fixes.means.own_step.lengths import computes_with_lengths

W = tf.Variable(tf.ones([4, 3]) / 3.0)


def length(x):
    return tf.cast(tf.shape(x)[0], tf.float32)


def gradient(loss):
    def step(x):
        with tf.GradientTape() as tape:
            value = loss(x @ W)
        return tape.gradient(value, W)

    return step


def nested(x):
    return tf.cond(tf.reduce_sum(x) > 0, lambda: x / length(x), lambda: x)


SAME = {
    "no length": lambda x: tf.tanh(x @ W),
    "a mean": lambda x: tf.reduce_mean(x @ W),
    "its gradient": gradient(tf.reduce_mean),
    "of a square: 2 does not round": gradient(lambda y: tf.reduce_mean(y**2)),
    "twice": gradient(lambda y: 2.0 * tf.reduce_sum(tf.tanh(y))),
    "as an index": lambda x: x[tf.shape(x)[0] // 2],
    "chosen": lambda x: tf.maximum(x @ W, length(x)),
    "not used": lambda x: (x / length(x), x @ W)[1],
}
OTHER = {
    "divided": lambda x: (x @ W) / length(x),
    "a constant on the way": lambda x: (x @ W) * 0.3 * (1 / length(x)),
    "a constant after it": lambda x: tf.reshape((x @ W) * length(x), [-1]) * 0.3,
    "a power": lambda x: (x @ W) ** length(x),
    "in the gradient of a deviation": gradient(tf.math.reduce_std),
    "in a branch": nested,
}


def traced(step, shape=(None, 4)):
    return tf.function(step).get_concrete_function(tf.TensorSpec(shape)).graph


@pytest.mark.parametrize("step", SAME.values(), ids=SAME)
def test_what_no_rewriting_changes(step):
    assert computes_with_lengths(traced(step)) == ""


@pytest.mark.parametrize("step", OTHER.values(), ids=OTHER)
def test_what_may_be_rounded_otherwise(step):
    assert computes_with_lengths(traced(step))


@pytest.mark.parametrize("step", OTHER.values(), ids=OTHER)
def test_known_lengths_are_constants(step):
    assert computes_with_lengths(traced(step, (6, 4))) == ""
