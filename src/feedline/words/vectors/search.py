"""Nearest rows by cosine: exact, in blocks, with bounded memory.

The matrix is taken as it is (it may be memory-mapped) with the length of each
row beside it; a normalised copy would double the memory. A block of rows times
all queries is one matrix product, and only its best few survive.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feedline.errors import VectorsError

Floats = NDArray[np.float32]

# Scores held at once: 8 million are 32 MB.
_SCORES = 8_000_000
_BLOCK_BYTES = 32_000_000


def norms(matrix: Floats) -> Floats:
    """The length of each row, without a second matrix."""
    found = np.empty(len(matrix), np.float32)
    step = max(1, _BLOCK_BYTES // (4 * matrix.shape[1]))
    for start in range(0, len(matrix), step):
        block = matrix[start : start + step]
        np.sqrt(np.einsum("ij,ij->i", block, block), out=found[start : start + step])
    return found


def unit(rows: Floats) -> Floats:
    """The rows at length 1; a row of zeros stays as it is."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), np.float32)


def nearest(
    matrix: Floats,
    lengths: Floats,
    queries: Floats,
    n: int,
    known: Sequence[Sequence[int]] | None = None,
    restrict: int | None = None,
) -> tuple[NDArray[np.int64], Floats]:
    """The `n` best rows for each query and their cosines, best first.

    `known[q]` are rows that are no answer to query `q`. Where fewer than `n`
    rows can answer, the rest has id -1.
    """
    if n < 1:
        raise VectorsError(f"{n} neighbours: give 1 or more")
    rows = len(matrix) if restrict is None else min(limit(restrict), len(matrix))
    n = min(n, rows)
    queries = unit(queries)
    best_ids = np.full((len(queries), n), -1, np.int64)
    best = np.full((len(queries), n), -np.inf, np.float32)
    step = max(1, min(_SCORES // max(1, len(queries)), rows))
    for start in range(0, rows, step):
        stop = min(start + step, rows)
        scores = queries @ matrix[start:stop].T
        scores /= np.where(lengths[start:stop] > 0, lengths[start:stop], 1)
        _leave_out(scores, known, start, stop)
        ids, values = _top(scores, n)
        ids += start
        best_ids, best = _merge(best_ids, best, ids, values, n)
    best_ids[np.isneginf(best)] = -1
    return best_ids, best


def limit(restrict: int) -> int:
    """How many of the first words to look at."""
    if restrict < 1:
        raise VectorsError(
            f"a search among the first {restrict} words finds nothing: give 1 or more"
        )
    return restrict


def _leave_out(
    scores: Floats, known: Sequence[Sequence[int]] | None, start: int, stop: int
) -> None:
    for query, rows in enumerate(known or ()):
        for row in rows:
            if start <= row < stop:
                scores[query, row - start] = -np.inf


def _top(scores: Floats, n: int) -> tuple[NDArray[np.int64], Floats]:
    n = min(n, scores.shape[1])
    if n < scores.shape[1]:
        ids = np.argpartition(scores, scores.shape[1] - n, axis=1)[:, -n:]
    else:
        ids = np.broadcast_to(np.arange(n), scores.shape)
    return np.array(ids, np.int64), np.take_along_axis(scores, ids, axis=1)


def _merge(
    first: NDArray[np.int64],
    first_scores: Floats,
    second: NDArray[np.int64],
    second_scores: Floats,
    n: int,
) -> tuple[NDArray[np.int64], Any]:
    ids = np.concatenate([first, second], axis=1)
    scores = np.concatenate([first_scores, second_scores], axis=1)
    # Stable, over ids that rise: of equal scores the more frequent word wins.
    by_id = np.argsort(ids, axis=1, kind="stable")
    ids = np.take_along_axis(ids, by_id, axis=1)
    scores = np.take_along_axis(scores, by_id, axis=1)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :n]
    return (
        np.take_along_axis(ids, order, axis=1),
        np.take_along_axis(scores, order, axis=1),
    )
