"""Words to vectors inside TensorFlow's graphs: strings in, vectors out.

    lookup = Lookup(vectors)
    lookup(tf.constant([["king", "queen"]]))      # shape (1, 2, dim)

The table of words is TensorFlow's own hash table, on the host; the vectors are a
variable on the default device. A word without a row is cut into fastText's n-grams
where the vectors have subwords, by the ops of this file, which are held to
`subwords.py`; otherwise it is zeros, or the row of a word that stands for all
unknown ones. Importing this file imports TensorFlow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from feedline.errors import UnknownWord, VectorsError
from feedline.words.vectors.subwords import END_OF_SENTENCE, Subwords
from feedline.words.vectors.vectors import Vectors

_FNV_OFFSET, _FNV_PRIME, _MASK = 2166136261, 16777619, 0xFFFFFFFF
_BYTES = 4  # of a UTF-8 character, at most


def text_of(vectors: Vectors) -> list[str]:
    """The words, all of which TensorFlow can hold: different, and UTF-8."""
    words = list(vectors.index)  # says which word stands twice
    try:
        "".join(words).encode()
    except UnicodeEncodeError as error:
        raise VectorsError(
            "a word has a character that UTF-8 has no bytes for "
            f"({error.object[error.start : error.end]!r}). Rename the word first"
        ) from None
    return words


class Lookup(tf.Module):  # type: ignore[misc]
    """Words of any shape, ragged too, to vectors. Can be saved as a SavedModel."""

    def __init__(self, vectors: Vectors, unknown: str | None = None) -> None:
        super().__init__(name="words")
        words = text_of(vectors)
        if unknown is not None and unknown not in vectors.index:
            raise UnknownWord(
                f"{unknown!r} is to stand for unknown words, and is unknown itself: "
                "give a word of the vocabulary, or none for zeros"
            )
        # Outside of whatever function is being traced: made once, kept for ever.
        with tf.init_scope():
            rows = tf.range(len(words), dtype=tf.int64)
            made = tf.lookup.KeyValueTensorInitializer(tf.constant(words), rows)
            self.table = tf.lookup.StaticHashTable(made, default_value=-1)
            self.matrix = tf.Variable(vectors.matrix, trainable=False, name="matrix")
            if unknown is None:
                self.unknown = tf.zeros(vectors.dim)
            else:
                self.unknown = tf.constant(np.asarray(vectors[unknown]))
            self.subwords = None
            # A word that was chosen for the unknown ones comes before subwords.
            if vectors.subwords is not None and unknown is None:
                self.subwords = _Ngrams(vectors.subwords)

    @tf.function(input_signature=[tf.TensorSpec(None, tf.string, name="words")])
    def vectors(self, words: Any) -> Any:
        """The vectors, with one more axis than the words."""
        flat = tf.reshape(words, [-1])
        rows = self.table.lookup(flat)
        found = tf.gather(self.matrix, tf.maximum(rows, 0))
        if self.subwords is None:
            other = self.unknown
        else:
            # Only the words that are not known are cut into n-grams.
            places = tf.where(rows < 0)
            cut = self.subwords.means(tf.gather_nd(flat, places))
            other = tf.scatter_nd(places, cut, tf.shape(found, tf.int64))
        found = tf.where(rows[:, tf.newaxis] < 0, other, found)
        return tf.reshape(found, tf.concat([tf.shape(words), [found.shape[1]]], 0))

    def __call__(self, words: Any) -> Any:
        if isinstance(words, tf.RaggedTensor):
            return words.with_flat_values(self(words.flat_values))
        made = self.vectors(words)
        if words.shape.rank is not None:
            made.set_shape([*words.shape, self.matrix.shape[1]])
        return made


class _Ngrams(tf.Module):  # type: ignore[misc]
    """fastText's n-grams by TensorFlow's ops: see subwords.py."""

    def __init__(self, subwords: Subwords) -> None:
        super().__init__(name="subwords")
        self.matrix = tf.Variable(subwords.matrix, trainable=False, name="matrix")
        self.sizes = range(subwords.min_n, subwords.max_n + 1)
        self.buckets = subwords.buckets

    def means(self, words: Any) -> Any:
        """The mean of each word's n-grams; zeros where it has none."""
        wrapped = tf.strings.join(["<", words, ">"])
        characters = tf.strings.unicode_split(wrapped, "UTF-8")
        cut = []
        for size in self.sizes:
            # A lone `<` or `>` is no n-gram.
            text = characters[:, 1:-1] if size == 1 else characters
            cut.append(tf.strings.ngrams(text, size, separator=""))
        grams = tf.concat(cut, axis=1)
        rows = tf.gather(self.matrix, self._hashed(grams.flat_values) % self.buckets)
        sums = tf.math.unsorted_segment_sum(rows, grams.value_rowids(), grams.nrows())
        counts = tf.cast(grams.row_lengths(), tf.float32)[:, tf.newaxis]
        means = tf.math.divide_no_nan(sums, counts)
        ends = tf.equal(words, END_OF_SENTENCE)[:, tf.newaxis]
        return tf.where(ends, tf.zeros_like(means), means)

    def _hashed(self, grams: Any) -> Any:
        """FNV-1a of the bytes, each sign-extended to 32 bits."""
        most = _BYTES * self.sizes[-1]
        # Padded with zeros to one length; where a gram has ended its hash stays.
        data = tf.cast(tf.io.decode_raw(grams, tf.uint8, fixed_length=most), tf.int64)
        signed = tf.bitwise.bitwise_or(data, tf.constant(0xFFFFFF00, tf.int64))
        data = tf.where(data < 0x80, data, signed)
        lengths = tf.strings.length(grams)
        value = tf.fill(tf.shape(grams), tf.constant(_FNV_OFFSET, tf.int64))
        for at in range(most):
            longer = tf.bitwise.bitwise_xor(value, data[:, at]) * _FNV_PRIME
            longer = tf.bitwise.bitwise_and(longer, tf.constant(_MASK, tf.int64))
            value = tf.where(at < lengths, longer, value)
        return value
