"""A classifier inside TensorFlow's graphs: texts in, probabilities out.

    model = tf.saved_model.load(path)              # needs no feedline
    model.probabilities(tf.constant(["an early exit"]))      # shape (1, labels)
    model.labels()                                 # their names, in that order

Texts are cut, looked up and hashed by TensorFlow's ops, which are held to bags.py
and kernel.py. Importing this file imports TensorFlow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from feedline.errors import ClassifierError
from feedline.words.classify.classifier import Classifier


class Model(tf.Module):  # type: ignore[misc]
    """What a SavedModel of a classifier holds."""

    def __init__(self, classifier: Classifier) -> None:
        super().__init__(name="classifier")
        options = classifier.options
        if options.pattern is not None:
            raise ClassifierError(
                f"this classifier finds words by the pattern {options.pattern!r}, and "
                "TensorFlow's patterns are others than Python's: train one whose words "
                "are split at spaces"
            )
        self.lower, self.sizes = options.lower, options.word_ngrams
        self.bucket, self.words = options.bucket, len(classifier.words)
        rows = tf.range(1, self.words + 1, dtype=tf.int64)
        made = tf.lookup.KeyValueTensorInitializer(tf.constant(classifier.words), rows)
        self.table = tf.lookup.StaticHashTable(made, default_value=-1)
        inputs, outputs = np.array(classifier.inputs), np.array(classifier.outputs)
        self.inputs = tf.Variable(inputs, trainable=False, name="inputs")
        self.outputs = tf.Variable(outputs, trainable=False, name="outputs")
        used = np.array(classifier.buckets, np.int64)
        self.used = tf.Variable(used, trainable=False, name="buckets")
        self.names = tf.constant(classifier.labels)

    @tf.function(input_signature=[])
    def labels(self) -> Any:
        """The names of the labels."""
        return tf.identity(self.names)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="texts")])
    def probabilities(self, texts: Any) -> Any:
        """The probability of each label, for each text."""
        texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8")
        if self.lower:
            texts = tf.strings.lower(texts, encoding="utf-8")
        words = tf.strings.split(texts)
        found = words.with_flat_values(self.table.lookup(words.flat_values))
        known = tf.ragged.boolean_mask(found, found >= 0)
        ends = tf.zeros([tf.shape(texts)[0], 1], tf.int64)
        bags = tf.concat([known, ends], axis=1)
        rows, owners = bags.flat_values, bags.value_rowids()
        if self.sizes > 1 and self.used.shape[0]:
            more = [(rows, owners), *self._ngrams(rows, owners)]
            rows = tf.concat([part for part, _ in more], 0)
            owners = tf.concat([part for _, part in more], 0)
        count = tf.shape(texts)[0]
        ones = tf.ones_like(owners, tf.float32)
        totals = tf.math.unsorted_segment_sum(
            tf.gather(self.inputs, rows), owners, count
        )
        sizes = tf.math.unsorted_segment_sum(ones, owners, count)
        means = totals / sizes[:, tf.newaxis]
        return tf.nn.softmax(tf.matmul(means, self.outputs, transpose_b=True))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="texts")])
    def serve(self, texts: Any) -> dict[str, Any]:
        """Both, for TensorFlow Serving."""
        return {"labels": self.labels(), "probabilities": self.probabilities(texts)}

    def _ngrams(self, rows: Any, owners: Any) -> list[tuple[Any, Any]]:
        """The rows of n-grams of each size, and their texts: see bags.py."""
        value = _mixed(tf.cast(rows, tf.uint64))
        places = tf.range(tf.size(rows))
        found = []
        for ahead in range(1, self.sizes):
            value = _mixed(value + tf.cast(tf.roll(rows, -ahead, 0), tf.uint64))
            # Not beyond the end of the text, nor around that of all.
            within = (owners == tf.roll(owners, -ahead, 0)) & (
                places + ahead < tf.size(rows)
            )
            bucket = tf.cast(value % tf.constant(self.bucket, tf.uint64), tf.int64)
            slot = tf.searchsorted(self.used, bucket)
            slot = tf.minimum(slot, self.used.shape[0] - 1)
            kept = within & (tf.gather(self.used, slot) == bucket)
            row = tf.cast(slot, tf.int64) + 1 + self.words
            found.append((row[kept], owners[kept]))
        return found


def _mixed(z: Any) -> Any:
    """bags.py's, by TensorFlow."""

    def folded(z: Any, bits: int) -> Any:
        shifted = tf.bitwise.right_shift(z, tf.constant(bits, tf.uint64))
        return tf.bitwise.bitwise_xor(z, shifted)

    z = z + tf.constant(0x9E3779B97F4A7C15, tf.uint64)
    z = folded(z, 30) * tf.constant(0xBF58476D1CE4E5B9, tf.uint64)
    z = folded(z, 27) * tf.constant(0x94D049BB133111EB, tf.uint64)
    return folded(z, 31)
