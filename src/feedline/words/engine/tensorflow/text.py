"""Skip-gram and CBOW as matrix products: one step over some groups of words.

A step looks rows up, computes how they should change, and hands the changes back;
where rows live and how changes reach them is places.py. All of a step's changes
are computed from the same rows and then added up, where the reference takes one
pair after the other. For most rows the difference is of the order of the rate
squared. A row that is in very many pairs would overshoot, so each change comes with
a load: how far, to first order, the row's own change lowers its own gradient. See
`places.damped`.

There are three ways in and two ways out, each a few lines:

    inputs     skip-gram    every word of a group, for the centres it is near
               subwords     the mean of a centre's subwords, for the words near it
               CBOW         the mean of the words near a centre, for that centre
    outputs    noise        the targets, and the noise that the group shares
               tree         the nodes above each target
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from feedline.words.engine.tables import Tables
from feedline.words.engine.tensorflow.draws import Shape, Step

INPUTS, OUTPUTS = "inputs", "outputs"
Look = Callable[[str, Any], Any]
"""The rows of a table for some ids."""


class Change(NamedTuple):
    """What is to be added to some rows of a table."""

    table: str
    ids: Any
    values: Any
    load: Any
    """For each id: the rate times the curvature of the loss."""
    bag: bool = False
    """Each id stands for all rows of that word: its own and its subwords'."""


class Outcome(NamedTuple):
    """What a step found."""

    changes: list[Change]
    loss: Any
    examples: Any


class Target(NamedTuple):
    """Output rows and, for each input, how much each counts and what it should say."""

    ids: Any
    weights: Any
    seen: Any
    """1 where the row should say yes, 0 for no."""


@dataclass(frozen=True, eq=False)
class TextModel:
    """The steps of one training. Its tables lie on the device."""

    tables: Tables
    shape: Shape
    compute: str = "float32"
    """The type that rows are multiplied in; they are kept in float32."""

    def __post_init__(self) -> None:
        if self.tables.config.loss == "hs":
            nodes, codes = paths(self.tables)
            object.__setattr__(self, "_nodes", tf.constant(nodes))
            object.__setattr__(self, "_codes", tf.constant(codes))

    def step(self, step: Step, rate: Any, look: Look, bags: Any) -> Outcome:
        """The changes for some groups."""
        config = self.tables.config
        window, centres = self.shape.window, self.shape.centres
        middle = step.words[:, window : window + centres]
        if config.model == "cbow":
            return self._cbow(step, middle, rate, look, bags)
        if config.subwords:
            inputs = bags.mean(look, middle)
            near = tf.linalg.matrix_transpose(step.near)
            target = self._target(step.words, near, step.noise)
            change, load, out, loss = self._predict(inputs, target, rate, look)
            return Outcome(
                [Change(INPUTS, middle, change, load, True), out], loss, _sum(near)
            )
        inputs = look(INPUTS, step.words)
        target = self._target(middle, step.near, step.noise)
        change, load, out, loss = self._predict(inputs, target, rate, look)
        return Outcome(
            [Change(INPUTS, step.words, change, load), out], loss, _sum(step.near)
        )

    def _cbow(
        self, step: Step, middle: Any, rate: Any, look: Look, bags: Any
    ) -> Outcome:
        bagged = self.tables.config.subwords
        if bagged:
            rows, sizes = bags.sum(look, step.words)
        else:
            rows, sizes = look(INPUTS, step.words), tf.ones_like(step.near[:, 0])
        count = tf.linalg.matvec(step.near, sizes)
        inputs = tf.math.divide_no_nan(step.near @ rows, count[:, :, tf.newaxis])
        own = tf.linalg.diag(tf.cast(count > 0, tf.float32))
        target = self._target(middle, own, step.noise)
        change, load, out, loss = self._predict(inputs, target, rate, look)
        # Every row of the window takes the whole step, as in word2vec.
        change = tf.matmul(step.near, change, transpose_a=True)
        load = tf.linalg.matvec(step.near, load, transpose_a=True)
        return Outcome(
            [Change(INPUTS, step.words, change, load, bagged), out], loss, _sum(own)
        )

    def _target(self, words: Any, pairs: Any, noise: Any) -> Target:
        """What is predicted: `pairs` [groups, words, inputs] says for which inputs."""
        if self.tables.config.loss == "hs":
            nodes = tf.gather(self._nodes, words)  # type: ignore[attr-defined]
            codes = tf.gather(self._codes, words)  # type: ignore[attr-defined]
            groups, depth = words.shape[0], nodes.shape[-1]
            flat = [groups, words.shape[1] * depth, 1]
            real = tf.cast(tf.reshape(codes, flat) >= 0, tf.float32)
            return Target(
                tf.reshape(nodes, flat[:2]),
                tf.repeat(pairs, depth, axis=1) * real,
                tf.cast(tf.reshape(codes, flat) == 0, tf.float32),
            )
        # A pair's share of the noise, less the noise that is the very word to predict.
        other = tf.cast(noise[:, :, tf.newaxis] != words[:, tf.newaxis, :], tf.float32)
        share = (other @ pairs) * (self.tables.config.negative / self.shape.noise)
        seen = np.zeros((1, words.shape[1] + self.shape.noise, 1), np.float32)
        seen[:, : words.shape[1]] = 1.0
        return Target(
            tf.concat([words, noise], 1),
            tf.concat([pairs, share], 1),
            tf.constant(seen),
        )

    def _predict(
        self, inputs: Any, target: Target, rate: Any, look: Look
    ) -> tuple[Any, Any, Change, Any]:
        """The change and the load of the inputs, the output rows', and the loss."""
        low = tf.dtypes.as_dtype(self.compute)
        inputs = tf.cast(inputs, low)
        outputs = tf.cast(look(OUTPUTS, target.ids), low)
        dots = tf.cast(tf.matmul(outputs, inputs, transpose_b=True), tf.float32)
        likely = tf.sigmoid(dots)
        errors = tf.cast((target.seen - likely) * target.weights, low)
        bend = rate * likely * (1 - likely) * target.weights
        # -log sigmoid(x) is softplus(x) - x.
        each = tf.math.softplus(dots) - target.seen * dots
        loss = _sum(target.weights * each)
        change = tf.cast(tf.matmul(errors, outputs, transpose_a=True), tf.float32)
        back = tf.cast(tf.matmul(errors, inputs), tf.float32)
        load = tf.linalg.matvec(bend, _squares(outputs), transpose_a=True)
        on = tf.linalg.matvec(bend, _squares(inputs))
        return rate * change, load, Change(OUTPUTS, target.ids, rate * back, on), loss


def paths(tables: Tables) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """For each word the nodes above it and the branch at each, filled up with the
    empty row and -1; so for the empty word too."""
    words, longest = tables.words, tables.longest_path
    nodes = np.full((words + 1, longest), tables.output_rows, np.int32)
    codes = np.full((words + 1, longest), -1, np.int8)
    sizes = np.diff(tables.path_offsets)
    row = np.repeat(np.arange(words), sizes)
    column = np.arange(len(row)) - np.repeat(tables.path_offsets[:-1], sizes)
    nodes[row, column] = tables.path_nodes
    codes[row, column] = tables.path_codes
    return nodes, codes


def _squares(rows: Any) -> Any:
    return tf.square(tf.math.reduce_euclidean_norm(tf.cast(rows, tf.float32), -1))


def _sum(values: Any) -> Any:
    return tf.reduce_sum(values)
