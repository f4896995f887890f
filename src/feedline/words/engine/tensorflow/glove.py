"""GloVe on the device: weighted least squares on log counts, both directions.

A step hands back each row's gradient times the rate; AdaGrad's part, which needs
the gradients of all devices, is in places.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from feedline.words.engine.config import Config
from feedline.words.engine.tensorflow.text import (
    INPUTS,
    OUTPUTS,
    Change,
    Look,
    Outcome,
)


class Pairs(NamedTuple):
    """A launch: the words of each co-occurrence, the logarithm of its count."""

    pairs: Any
    logs: Any
    steps: Any


@dataclass(frozen=True, eq=False)
class GloveProgram:
    """The steps of one training."""

    config: Config
    words: int
    bias: int
    """The column of the biases, behind the vectors."""
    size: int
    """Co-occurrences in a step."""
    adagrad = True

    def signature(self) -> list[Any]:
        return [
            tf.TensorSpec([None, 2], tf.int32),
            tf.TensorSpec([None], tf.float32),
        ]

    def arguments(self, pairs: Any, logs: Any) -> tuple[Any, Any]:
        """What a launch is given: filled up to whole steps with no words."""
        missing = -len(pairs) % self.size
        return (
            np.pad(pairs, ((0, missing), (0, 0)), constant_values=self.words),
            np.pad(logs, (0, missing)),
        )

    def prepare(self, pairs: Any, logs: Any) -> Pairs:
        return Pairs(pairs, logs, tf.size(logs) // self.size)

    def kept(self, state: Pairs) -> Any:  # noqa: ARG002
        return tf.constant(0, tf.int32)

    def step(
        self, state: Pairs, number: Any, part: int, parts: int, look: Look
    ) -> Outcome:
        config, size = self.config, self.size // parts
        start = number * self.size + part * size
        pairs = tf.slice(state.pairs, [start, 0], [size, 2])
        logs = tf.slice(state.logs, [start], [size])
        first, second = pairs[:, 0], pairs[:, 1]
        here = tf.concat([first, second], 0)
        there = tf.concat([second, first], 0)
        logs = tf.concat([logs, logs], 0)
        # A word beside itself is one direction, not two; no word is none.
        twice = tf.concat([tf.zeros_like(first, tf.bool), first == second], 0)
        counts = tf.cast((here < self.words) & ~twice, tf.float32)
        heavy = tf.exp(config.power * (logs - np.log(config.x_max)))
        weight = counts * tf.minimum(1.0, heavy)
        rows, others = look(INPUTS, here), look(OUTPUTS, there)
        column = tf.one_hot(self.bias, rows.shape[-1])
        u, v = rows * (1 - column), others * (1 - column)
        biases = rows[:, self.bias] + others[:, self.bias]
        difference = tf.reduce_sum(u * v, 1) + biases - logs
        step = (-config.eta * weight * difference)[:, tf.newaxis]
        u, v = u + column, v + column
        bend = config.eta * weight
        return Outcome(
            [
                Change(INPUTS, here, step * v, bend * tf.reduce_sum(v * v, 1)),
                Change(OUTPUTS, there, step * u, bend * tf.reduce_sum(u * u, 1)),
            ],
            tf.reduce_sum(0.5 * weight * difference**2),
            tf.reduce_sum(counts),
        )
