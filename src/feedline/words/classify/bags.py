"""From the words of texts to bags of rows: words, the end of the text, n-grams.

    words      good   film   END
    bigrams        good_film  film_END            each hashed to one of the buckets

The end of the text is a word of its own, in every bag: it is the model's bias, and
no bag is empty. As in fastText an n-gram has no row of its own but that of its
bucket; otherwise than there, only buckets that the training texts use have a row,
so a million unused ones cost nothing, and an n-gram that was never seen is left
out of a bag as an unknown word is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Offsets = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts as word numbers: text i is ids[offsets[i]:offsets[i + 1]]."""

    offsets: Offsets
    ids: Ints

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def widest(self) -> int:
        """The most numbers that a text has."""
        return int(np.diff(self.offsets).max(initial=1))


def used_buckets(texts: Texts, sizes: int, buckets: int) -> Ints:
    """The buckets that the texts' n-grams of up to `sizes` words fall into."""
    if sizes < 2:
        return np.empty(0, np.int32)
    seen = np.zeros(buckets, np.bool_)
    _mark(texts.offsets, texts.ids, sizes, np.uint64(buckets), seen)
    return np.flatnonzero(seen).astype(np.int32)


def slots_of(used: Ints, buckets: int) -> Ints:
    """For each bucket its place among those used, or -1."""
    slots = np.full(buckets if len(used) else 1, -1, np.int32)
    slots[used] = np.arange(len(used), dtype=np.int32)
    return slots


def bags(texts: Texts, words: int, sizes: int, slots: Ints) -> Texts:
    """The bags of texts whose words are below `words`. Row 0 is that of the end, word
    w has row w + 1, and after the words come those of the buckets."""
    lengths = np.diff(texts.offsets) + 1
    most = lengths.copy()
    for size in range(1, sizes):
        most += np.maximum(lengths - size, 0)
    offsets = np.zeros(len(texts) + 1, np.int64)
    ids = np.empty(int(most.sum()), np.int32)
    filled = _fill(texts.offsets, texts.ids, words, sizes, slots, offsets, ids)
    return Texts(offsets, ids[:filled])


@njit(nogil=True, cache=True, inline="always")
def _mixed(number: Any) -> Any:
    """A number whose bits all depend on all bits of the given one."""
    z = np.uint64(number) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(nogil=True, cache=True)
def _mark(offsets: Any, ids: Any, sizes: Any, buckets: Any, seen: Any) -> None:
    for text in range(len(offsets) - 1):
        start, end = offsets[text], offsets[text + 1]
        for at in range(start, end):
            value = _mixed(ids[at] + 1)
            for i in range(at + 1, min(at + sizes, end + 1)):
                row = 0 if i == end else ids[i] + 1
                value = _mixed(value + np.uint64(row))
                seen[value % buckets] = True


@njit(nogil=True, cache=True)
def _fill(
    from_offsets: Any,
    from_ids: Any,
    words: Any,
    sizes: Any,
    slots: Any,
    offsets: Any,
    ids: Any,
) -> int:
    filled = 0
    buckets = np.uint64(len(slots))
    for text in range(len(from_offsets) - 1):
        start, end = from_offsets[text], from_offsets[text + 1]
        ids[filled] = 0
        filled += 1
        for at in range(start, end):
            ids[filled] = from_ids[at] + 1
            filled += 1
        if sizes > 1:
            for at in range(start, end):
                value = _mixed(from_ids[at] + 1)
                for i in range(at + 1, min(at + sizes, end + 1)):
                    row = 0 if i == end else from_ids[i] + 1
                    value = _mixed(value + np.uint64(row))
                    slot = slots[value % buckets]
                    if slot >= 0:
                        ids[filled] = 1 + words + slot
                        filled += 1
        offsets[text + 1] = filled
    return filled
