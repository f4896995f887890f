"""Subwords on the device: the rows of a word are its own and those of its n-grams.

Bags differ in size, so the rows of many words are looked up as one long list, and
summed by the word that each belongs to.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from feedline.words.engine.tables import Tables


class Bags:
    """The bags of a vocabulary. The empty word's holds the empty row alone."""

    def __init__(self, tables: Tables) -> None:
        sizes = np.append(np.diff(tables.gram_offsets), 0).astype(np.int32)
        self.sizes = tf.constant(sizes)
        starts = np.append(tables.gram_offsets[:-1], 0)
        self.starts = tf.constant(starts.astype(np.int32))
        # The empty word has no grams, and the list one entry at least.
        self.grams = tf.constant(np.append(tables.gram_ids, 0).astype(np.int32))
        self.nothing = tables.words
        self.empty = tables.input_rows
        self.widest = tables.widest_bag - 1

    def rows(self, words: Any) -> tuple[Any, Any]:
        """All rows of some words, in one list, and to which word each belongs."""
        words = tf.reshape(words, [-1])
        count = tf.range(tf.size(words))
        start, size = tf.gather(self.starts, words), tf.gather(self.sizes, words)
        inside = tf.sequence_mask(size, self.widest)
        places = start[:, tf.newaxis] + tf.range(self.widest)
        grams = tf.gather(self.grams, tf.boolean_mask(places, inside))
        owner = tf.boolean_mask(
            tf.broadcast_to(count[:, tf.newaxis], tf.shape(inside)), inside
        )
        own = tf.where(words == self.nothing, self.empty, words)
        return tf.concat([own, grams], 0), tf.concat([count, owner], 0)

    def sum(self, look: Any, words: Any) -> tuple[Any, Any]:
        """The sum of each word's rows, and how many they are."""
        rows, owner = self.rows(words)
        count = int(np.prod(words.shape))
        total = tf.math.unsorted_segment_sum(look("inputs", rows), owner, count)
        sizes = 1 + tf.gather(self.sizes, words)
        shape = [*words.shape, total.shape[-1]]
        return tf.reshape(total, shape), tf.cast(sizes, tf.float32)

    def mean(self, look: Any, words: Any) -> Any:
        total, sizes = self.sum(look, words)
        return total / sizes[..., tf.newaxis]

    def spread(self, words: Any, values: Any, load: Any) -> tuple[Any, Any, Any]:
        """The same change for every row of a word: rows, their changes and loads."""
        rows, owner = self.rows(words)
        flat = tf.reshape(values, [-1, values.shape[-1]])
        loads = tf.gather(tf.reshape(load, [-1]), owner)
        return rows, tf.gather(flat, owner), loads
