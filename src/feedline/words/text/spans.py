"""Cuts encoded text into blocks: what a thread trains on between two looks up.

A block ends with a sentence where one ends near. It is small enough that training
can pause at any time for a checkpoint, and large enough that calling the engine
costs nothing. How a corpus is cut depends on the corpus alone, never on the
number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from feedline.words.text.shards import END

LARGEST = 32_768
SMALLEST = 512
_FEWEST = 64
# A sentence that goes on for longer is cut.
_PATIENCE = 8_192

Span = tuple[int, int, int]
"""The array, and where in it the block begins and ends."""


def cut(arrays: Sequence[NDArray[np.int32]], largest: int = LARGEST) -> list[Span]:
    """Blocks of about that many tokens that cover all arrays, in order."""
    total = sum(len(array) for array in arrays)
    size = max(SMALLEST, min(largest, total // _FEWEST))
    spans: list[Span] = []
    for number, array in enumerate(arrays):
        start = 0
        while start < len(array):
            stop = _sentence_end(array, min(len(array), start + size))
            spans.append((number, start, stop))
            start = stop
    return spans


def _sentence_end(array: NDArray[np.int32], stop: int) -> int:
    """The place after the first END at or after `stop - 1`, if one is near."""
    near = 64
    while stop < len(array):
        ends = np.flatnonzero(array[stop - 1 : stop - 1 + near] == END)
        if len(ends):
            return stop + int(ends[0])
        if near >= _PATIENCE:
            break
        near = min(_PATIENCE, near * 4)
    return stop
