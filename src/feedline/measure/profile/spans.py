"""Arithmetic on spans of time: sorted, disjoint rows of (start, end).

Pure functions over NumPy arrays of whole nanoseconds. `share_out` is where a step
is divided: each kind takes what is left of the time by those before it, so every
instant has exactly one owner and the shares add up, whatever the events say.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Spans = Ints

NONE: Spans = np.empty((0, 2), np.int64)


def union(start: NDArray[np.int64], end: NDArray[np.int64]) -> Spans:
    """The time that any of these events covers."""
    keep = end > start
    start, end = start[keep], end[keep]
    if not len(start):
        return NONE
    order = np.argsort(start, kind="stable")
    start, reach = start[order], np.maximum.accumulate(end[order])
    first = np.ones(len(start), bool)
    first[1:] = start[1:] > reach[:-1]
    last = np.append(np.flatnonzero(first)[1:] - 1, len(start) - 1)
    return np.stack([start[first], reach[last]], axis=1)


def joined(*several: Spans) -> Spans:
    """The time that any of these covers."""
    every = np.concatenate([NONE, *several])
    return union(every[:, 0], every[:, 1])


def common(one: Spans, other: Spans) -> Spans:
    """The time that both cover."""
    if not len(one) or not len(other):
        return NONE
    first = np.searchsorted(other[:, 1], one[:, 0], "right")
    after = np.searchsorted(other[:, 0], one[:, 1], "left")
    times = np.maximum(after - first, 0)
    mine = np.repeat(np.arange(len(one)), times)
    offset = np.arange(len(mine)) - np.repeat(np.cumsum(times) - times, times)
    theirs = first[mine] + offset
    start = np.maximum(one[mine, 0], other[theirs, 0])
    return np.stack([start, np.minimum(one[mine, 1], other[theirs, 1])], axis=1)


def without(one: Spans, other: Spans) -> Spans:
    """What is left of `one` when the other is taken away."""
    if not len(one) or not len(other):
        return one
    low = min(one[0, 0], other[0, 0]) - 1
    high = max(one[-1, 1], other[-1, 1]) + 1
    edges = np.concatenate([[low], other.ravel(), [high]]).reshape(-1, 2)
    return common(one, edges)


def total(spans: Spans) -> int:
    return int((spans[:, 1] - spans[:, 0]).sum())


def covers(spans: Spans, moments: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of these moments lie in a span."""
    if not len(spans):
        return np.zeros(len(moments), bool)
    place = np.searchsorted(spans[:, 0], moments, "right") - 1
    inside: NDArray[np.bool_] = (place >= 0) & (
        moments < spans[np.maximum(place, 0), 1]
    )
    return inside


def within(spans: Spans, windows: Spans) -> NDArray[np.int64]:
    """How much of each window the spans cover."""

    def before(moments: NDArray[np.int64]) -> NDArray[np.int64]:
        if not len(spans):
            return np.zeros(len(moments), np.int64)
        length = spans[:, 1] - spans[:, 0]
        sums = np.concatenate([[0], np.cumsum(length)])
        place = np.searchsorted(spans[:, 0], moments, "right")
        last = np.maximum(place - 1, 0)
        beyond = np.minimum(moments - spans[last, 0], length[last])
        return np.where(place > 0, sums[last] + beyond, 0)

    return before(windows[:, 1]) - before(windows[:, 0])


@njit(nogil=True, cache=True)
def _parents(start: Any, end: Any, out: Any, stack: Any) -> None:
    depth = 0
    for row in range(len(start)):
        while depth and end[stack[depth - 1]] <= start[row]:
            depth -= 1
        out[row] = stack[depth - 1] if depth else -1
        stack[depth] = row
        depth += 1


def parents(
    start: NDArray[np.int64], end: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """On one thread events lie inside one another: an order in which the outer one
    comes first, and each one's parent as a place in that order, -1 for none."""
    order = np.lexsort((-end, start))
    out = np.empty(len(order), np.int64)
    _parents(start[order], end[order], out, np.empty(len(order) + 1, np.int64))
    return order, out
