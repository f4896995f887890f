"""Which rows of a table a gradient touches, each given one place.

A gradient by rows (`tf.IndexedSlices`) names a row as often as the batch does.
`Touched` numbers the different rows, so that a table of only these rows can be
read, updated and written back.

`tf.unique` has as many results as there are different rows, which XLA cannot
compile. There the places are found by sorting, and there are always as many as
the gradient has rows: those left over read row 0 and are never written back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from feedline.rows.private import compiled_by_xla


@dataclass(frozen=True)
class Touched:
    """`rows[p]` is the row of the table at place `p`, `place[i]` the place of the
    gradient's `i`-th row; `padded` when some places stand for no row."""

    rows: Any
    place: Any
    named: Any
    padded: bool

    @classmethod
    def by(cls, gradient: Any) -> Touched:
        """The rows that `gradient` names."""
        named = gradient.indices
        if not compiled_by_xla():
            rows, place = tf.unique(named, out_idx=named.dtype)
            return cls(rows, place, named, padded=False)
        order = tf.argsort(named, stable=True)
        ascending = tf.gather(named, order)
        starts = tf.concat(
            [
                tf.zeros([1], tf.int32),
                tf.cast(ascending[1:] != ascending[:-1], tf.int32),
            ],
            axis=0,
        )
        # Cut: of a batch without a single id nothing is left but the leading zero.
        numbered = tf.cumsum(starts)[: tf.shape(named)[0]]
        place = tf.gather(numbered, tf.argsort(order))
        rows = tf.math.unsorted_segment_max(named, place, tf.shape(named)[0])
        rows = tf.maximum(rows, tf.zeros([], rows.dtype))
        return cls(rows, place, named, padded=True)

    @property
    def count(self) -> Any:
        """How many places there are."""
        return tf.shape(self.rows)[0]

    def placed(self, gradient: Any) -> Any:
        """The same gradient for a table of the touched rows alone."""
        width = tf.shape(gradient.values)[1:]
        shape = tf.concat([tf.expand_dims(self.count, 0), width], axis=0)
        return tf.IndexedSlices(gradient.values, self.place, shape)

    def summed(self, gradient: Any) -> Any:
        """The same as a dense tensor: the rows that are named twice are added up."""
        return tf.math.unsorted_segment_sum(gradient.values, self.place, self.count)
