"""The compiled loops of the binary formats.

Apart from their formats, so that a format can be recognised without numba.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(cache=True, nogil=True)
def scan(
    data: NDArray[np.uint8],
    width: int,
    rows: NDArray[np.uint8],
    spans: NDArray[np.int64],
    longest: int,
) -> tuple[int, int]:
    """Copy each vector to its row; where each word begins and ends."""
    size = len(data)
    at = 0
    found = 0
    while found < len(rows):
        start = at
        while start < size and data[start] == 10:
            start += 1
        end = start
        while end < size and data[end] != 32 and end - start <= longest:
            end += 1
        if end - start > longest or end + 1 + width > size:
            break
        for i in range(width):
            rows[found, i] = data[end + 1 + i]
        spans[found, 0] = start
        spans[found, 1] = end
        at = end + 1 + width
        found += 1
    return found, at


@numba.njit(cache=True, nogil=True)
def add_ngrams(
    words: NDArray[np.float32],
    ngrams: NDArray[np.float32],
    offsets: NDArray[np.int64],
    ids: NDArray[np.int32],
) -> None:
    """Each word's row becomes the mean of itself and its n-grams, as fastText."""
    for word in range(len(words)):
        first, end = offsets[word], offsets[word + 1]
        for at in range(first, end):
            for i in range(words.shape[1]):
                words[word, i] += ngrams[ids[at], i]
        share = np.float32(1.0 / (end - first + 1))
        for i in range(words.shape[1]):
            words[word, i] *= share
