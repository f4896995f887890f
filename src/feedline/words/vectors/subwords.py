"""fastText's subwords: a word as its hashed character n-grams.

    word     where
    wrapped  <where>
    n = 3    <wh whe her ere re>       each hashed to one of `buckets` rows

A word that was never seen still has n-grams that were, and their mean is its
vector. Cutting and hashing follow fastText to the bit, so that its models can
be read: n-grams are cut between UTF-8 characters, hashed byte by byte with
32-bit FNV-1a, and each byte is sign-extended first. That last step is a slip in
fastText (a C `char` is signed) which its models have made the standard.

One word at a time is done here, in plain Python; `table` does a vocabulary by
compiled code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from feedline.errors import VectorsError

# fastText's end-of-sentence token: it has a row of its own and no n-grams.
END_OF_SENTENCE = "</s>"

_FNV_OFFSET = 2166136261
_FNV_PRIME = 16777619
_MASK = 0xFFFFFFFF


@dataclass(frozen=True, eq=False)
class Subwords:
    """The rows of the n-grams, and how a word is cut into them."""

    matrix: NDArray[np.float32]
    min_n: int
    max_n: int

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or not len(self.matrix):
            raise VectorsError(
                f"subword vectors need a matrix of buckets by dimension, not one of "
                f"shape {self.matrix.shape}"
            )
        check(self.min_n, self.max_n)

    @property
    def buckets(self) -> int:
        return len(self.matrix)

    def ids(self, word: str) -> list[int]:
        """The buckets of the word's n-grams, in fastText's order."""
        return [
            hashed(ngram) % self.buckets
            for ngram in ngrams(word, self.min_n, self.max_n)
        ]

    def vector(self, word: str) -> NDArray[np.float32]:
        """The mean of the word's n-gram rows; zeros where it has no n-gram."""
        ids = self.ids(word)
        total = np.zeros(self.matrix.shape[1], np.float32)
        # Row after row in float32, as fastText adds them: the same bits.
        for row in ids:
            total += self.matrix[row]
        return total * np.float32(1.0 / len(ids)) if ids else total


def check(min_n: int, max_n: int) -> None:
    """An error where no word could be cut so."""
    if not 1 <= min_n <= max_n:
        raise VectorsError(
            f"n-grams of {min_n} to {max_n} characters: the shorter must be 1 or more "
            "and not above the longer, as in 3 to 6"
        )


def ngrams(word: str, min_n: int, max_n: int) -> Iterator[bytes]:
    """The n-grams of `<word>` as UTF-8 bytes, in fastText's order.

    A lone `<` or `>` is none.
    """
    if word == END_OF_SENTENCE:
        return
    text = f"<{word}>"
    for start in range(len(text)):
        for n in range(min_n, max_n + 1):
            end = start + n
            if end > len(text):
                break
            if not (n == 1 and (start == 0 or end == len(text))):
                yield text[start:end].encode("utf-8", "surrogateescape")


def hashed(ngram: bytes) -> int:
    """FNV-1a of the bytes, each sign-extended to 32 bits."""
    value = _FNV_OFFSET
    for byte in ngram:
        value ^= byte if byte < 0x80 else byte | 0xFFFFFF00
        value = (value * _FNV_PRIME) & _MASK
    return value


def table(
    words: Iterable[str | bytes], min_n: int, max_n: int, buckets: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The n-gram buckets of all words as CSR arrays, by compiled code.

    Word `i` has `ids[offsets[i]:offsets[i + 1]]`, in the order of `ngrams`.
    Words may be given as their UTF-8 bytes, where those are not valid text.
    """
    from feedline.words.vectors.hashing import ngram_table

    check(min_n, max_n)
    if not 1 <= buckets <= np.iinfo(np.int32).max:
        raise VectorsError(
            f"{buckets} buckets for the n-grams: give from 1 to 2147483647, as in "
            "2000000"
        )
    parts: Sequence[bytes] = [
        word if isinstance(word, bytes) else word.encode("utf-8", "surrogateescape")
        for word in words
    ]
    return ngram_table(parts, END_OF_SENTENCE.encode(), min_n, max_n, buckets)
