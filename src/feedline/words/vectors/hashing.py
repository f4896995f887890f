"""The n-gram buckets of a whole vocabulary, compiled.

Held to `subwords.ngrams` and `subwords.hashed`, which say what it computes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numba
import numpy as np
from numpy.typing import NDArray


def ngram_table(
    words: Sequence[bytes], no_ngrams: bytes, min_n: int, max_n: int, buckets: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """CSR offsets and ids; the word `no_ngrams` has none."""
    # Wrapped here, so that the compiled loop sees one flat run of bytes.
    wrapped = [b"" if word == no_ngrams else b"<" + word + b">" for word in words]
    starts = np.zeros(len(wrapped) + 1, np.int64)
    np.cumsum([len(word) for word in wrapped], out=starts[1:])
    data = np.frombuffer(b"".join(wrapped), np.uint8)
    offsets = np.zeros(len(wrapped) + 1, np.int64)
    _count(data, starts, min_n, max_n, offsets)
    np.cumsum(offsets, out=offsets)
    ids = np.empty(int(offsets[-1]), np.int32)
    _fill(data, starts, min_n, max_n, np.uint32(buckets), offsets, ids)
    return offsets, ids


@numba.njit(cache=True, nogil=True)
def _count(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    min_n: int,
    max_n: int,
    counts: NDArray[np.int64],
) -> None:
    """Into counts[i + 1]: how many n-grams word i has."""
    for word in range(len(starts) - 1):
        chars = 0
        for at in range(starts[word], starts[word + 1]):
            chars += (data[at] & 0xC0) != 0x80
        total = 0
        for n in range(min_n, min(max_n, chars) + 1):
            total += chars - n + 1
            if n == 1:
                total -= min(2, chars)
        counts[word + 1] = total


@numba.njit(cache=True, nogil=True)
def _fill(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    min_n: int,
    max_n: int,
    buckets: np.uint32,
    offsets: NDArray[np.int64],
    ids: NDArray[np.int32],
) -> None:
    """The buckets, in the order of the offsets."""
    for word in range(len(starts) - 1):
        first, end, to = starts[word], starts[word + 1], offsets[word]
        for start in range(first, end):
            if (data[start] & 0xC0) == 0x80:
                continue
            value = np.uint32(2166136261)
            at = start
            n = 1
            while at < end and n <= max_n:
                while True:
                    byte = np.uint32(data[at])
                    if byte >= 0x80:
                        byte |= np.uint32(0xFFFFFF00)
                    value = np.uint32((value ^ byte) * np.uint32(16777619))
                    at += 1
                    if at >= end or (data[at] & 0xC0) != 0x80:
                        break
                if n >= min_n and not (n == 1 and (start == first or at == end)):
                    ids[to] = value % buckets
                    to += 1
                n += 1
