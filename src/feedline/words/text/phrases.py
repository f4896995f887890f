"""Phrases: words that stand together far more often than chance would have it.

Mikolov's score, as in word2phrase: two neighbouring words a and b become the one
word a_b where

    (count(a b) - delta) / (count(a) count(b)) * tokens  >  threshold

and both were seen `delta` times at least. Pairs are joined from left to right,
and a word joined to the one before it is not joined to the one after it in the
same pass. Several passes make longer phrases; as in word2vec's own example the
threshold is doubled for every pass that is still to come.

All of it works on the numbers in the spool, not on text. The table of pairs is
bounded: past the bound it forgets its rarest pairs, as word2phrase does.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from feedline.errors import CorpusError
from feedline.words.text.counting import Progress
from feedline.words.text.encode import Maps, translated
from feedline.words.text.spool import Spool
from feedline.words.text.table import LONGEST, Table

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_32 = np.uint64(32)
_EMPTY = np.int64(-1)


@dataclass(frozen=True)
class Phrases:
    """How phrases are found."""

    passes: int = 1
    threshold: float = 100.0
    delta: int = 5
    bound: int = 1 << 24
    """Pairs that are counted at once; 16 bytes each, up to twice that."""

    def __post_init__(self) -> None:
        if self.passes < 0:
            raise CorpusError(f"phrases is {self.passes}: give 0 or more passes.")
        if not self.threshold > 0:
            raise CorpusError(
                f"the phrases' threshold is {self.threshold}: give a number above 0."
            )
        if self.delta < 0:
            raise CorpusError(f"the phrases' delta is {self.delta}: give 0 or more.")


def join_phrases(
    spool: Spool,
    maps: Maps,
    table: Table,
    phrases: Phrases,
    progress: Progress | None = None,
) -> Spool:
    """The spool with phrases joined, in the numbers of `table`.

    The phrases are added to the table, and its counts become those after joining.
    """
    same = np.arange(len(table), dtype=np.int32)
    stage = Spool(spool.directory, "pass-0")
    with closing(stage):
        for final, numbers in translated(spool, maps, same):
            stage.append(_translate(numbers, final))
    for number in range(phrases.passes):
        threshold = phrases.threshold * 2 ** (phrases.passes - 1 - number)
        report = _reporter(progress, f"phrases {number + 1}", 2 * stage.size)
        pairs = PairCounts(phrases.bound)
        for _, _, numbers in stage.read(keep=True):
            pairs.add(numbers, table.counts, phrases.delta)
            report(len(numbers))
        joined = _named(table, pairs.above(table, phrases.delta, threshold))
        stage = _rewritten(stage, f"pass-{number + 1}", table, joined, report)
    return stage


def _rewritten(
    stage: Spool,
    name: str,
    table: Table,
    joined: PairCounts,
    report: Callable[[int], None],
) -> Spool:
    later = Spool(stage.directory, name)
    counts = np.zeros(len(table), np.int64)
    pending = np.full(1, -1, np.int64)
    with closing(later):
        for _, _, numbers in stage.read():
            out = np.empty(len(numbers) + 1, np.int32)
            size = _join(numbers, joined.keys, joined.counts, counts, pending, out)
            later.append(out[:size])
            report(len(numbers))
        if pending[0] >= 0:
            counts[pending[0]] += 1
            later.append(pending.astype(np.int32))
    table.counts[: len(table)] = counts
    return later


def _named(table: Table, keys: NDArray[np.int64]) -> PairCounts:
    """Add each pair to the words as one; a look-up from pairs to the numbers."""
    firsts, seconds = table.words(keys >> 32), table.words(keys & 0xFFFFFFFF)
    names = [b"_".join(pair) for pair in zip(firsts, seconds, strict=True)]
    fit = np.fromiter((len(name) <= LONGEST for name in names), bool, len(names))
    names = [name for name in names if len(name) <= LONGEST]
    numbers = table.add_words(names, np.zeros(len(names), np.int64))
    found = PairCounts(max(len(names), 1))
    found.put(keys[fit], numbers.astype(np.int64))
    return found


class PairCounts:
    """Counts of pairs of words, `bound` of them at most; or a number for each."""

    def __init__(self, bound: int) -> None:
        self.keys = np.full(1 << 12, _EMPTY)
        self.counts = np.zeros(1 << 12, np.int64)
        self._bound = bound
        self._entries = 0
        self._rarest = 0
        self._last = -1

    def add(
        self, numbers: NDArray[np.int32], counts: NDArray[np.int64], least: int
    ) -> None:
        """Count the neighbours in a part of the text, both seen `least` times."""
        done = 0
        while True:
            done, self._last, self._entries = _count_pairs(
                numbers,
                done,
                self._last,
                counts,
                least,
                self.keys,
                self.counts,
                self._entries,
            )
            if done == len(numbers):
                return
            self._make_room()

    def put(self, keys: NDArray[np.int64], values: NDArray[np.int64]) -> None:
        """Give every pair a value."""
        size = len(self.keys)
        while size < 2 * (len(keys) + self._entries):
            size *= 2
        self._rebuild(size, keys, values)

    def above(self, table: Table, delta: int, threshold: float) -> NDArray[np.int64]:
        """The pairs whose score is above the threshold, in a fixed order."""
        used = np.flatnonzero(self.keys != _EMPTY)
        keys, together = self.keys[used], self.counts[used]
        counts = table.counts[: len(table)].astype(np.float64)
        apart = counts[keys >> 32] * counts[keys & 0xFFFFFFFF]
        score = (together - delta) / apart * counts.sum()
        return np.sort(keys[score > threshold])

    def _make_room(self) -> None:
        used = np.flatnonzero(self.keys != _EMPTY)
        size = 2 * len(self.keys)
        if self._entries >= self._bound:
            size = len(self.keys)
            while len(used) > self._bound // 2:
                self._rarest += 1
                used = used[self.counts[used] > self._rarest]
        self._rebuild(size, self.keys[used], self.counts[used])

    def _rebuild(
        self, size: int, keys: NDArray[np.int64], values: NDArray[np.int64]
    ) -> None:
        self.keys = np.full(size, _EMPTY)
        self.counts = np.zeros(size, np.int64)
        self._entries = len(keys)
        _put_all(keys, values, self.keys, self.counts)


def _reporter(
    progress: Progress | None, stage: str, total: int
) -> Callable[[int], None]:
    done = 0

    def report(more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(stage, done, total)

    return report


@njit(inline="always")
def _slot_of(key: Any, size: Any) -> Any:
    value = np.uint64(key) * _FACTOR
    return np.int64((value ^ (value >> _32)) & np.uint64(size - 1))


@njit(nogil=True, cache=True)
def _count_pairs(
    numbers: NDArray[np.int32],
    done: int,
    last: int,
    counts: NDArray[np.int64],
    least: int,
    keys: NDArray[np.int64],
    found: NDArray[np.int64],
    entries: int,
) -> tuple[int, int, int]:
    limit = len(keys) // 2
    for i in range(done, len(numbers)):
        number = np.int64(numbers[i])
        if number >= 0 and counts[number] < least:
            number = np.int64(-2)
        if number >= 0 and last >= 0:
            key = (last << 32) | number
            slot = _slot_of(key, len(keys))
            while keys[slot] != key:
                if keys[slot] == _EMPTY:
                    if entries >= limit:
                        return i, last, entries
                    keys[slot] = key
                    entries += 1
                    break
                slot = (slot + 1) & (len(keys) - 1)
            found[slot] += 1
        last = number
    return len(numbers), last, entries


@njit(nogil=True, cache=True)
def _put_all(
    keys: NDArray[np.int64],
    values: NDArray[np.int64],
    into: NDArray[np.int64],
    found: NDArray[np.int64],
) -> None:
    for i in range(len(keys)):
        slot = _slot_of(keys[i], len(into))
        while into[slot] != _EMPTY:
            slot = (slot + 1) & (len(into) - 1)
        into[slot] = keys[i]
        found[slot] = values[i]


@njit(nogil=True, cache=True)
def _join(
    numbers: NDArray[np.int32],
    keys: NDArray[np.int64],
    joined: NDArray[np.int64],
    counts: NDArray[np.int64],
    pending: NDArray[np.int64],
    out: NDArray[np.int32],
) -> int:
    # A word waits until the next one is seen: it may be the first of a phrase.
    waiting = pending[0]
    size = 0
    for i in range(len(numbers)):
        number = np.int64(numbers[i])
        if waiting >= 0:
            if number >= 0:
                key = (waiting << 32) | number
                slot = _slot_of(key, len(keys))
                while keys[slot] != key and keys[slot] != _EMPTY:
                    slot = (slot + 1) & (len(keys) - 1)
                if keys[slot] == key:
                    out[size] = joined[slot]
                    counts[joined[slot]] += 1
                    size += 1
                    waiting = np.int64(-1)
                    continue
            out[size] = waiting
            counts[waiting] += 1
            size += 1
        waiting = number
        if number < 0:
            out[size] = number
            size += 1
    pending[0] = waiting
    return size


@njit(nogil=True, cache=True)
def _translate(
    numbers: NDArray[np.int32], final: NDArray[np.int32]
) -> NDArray[np.int32]:
    out: NDArray[np.int32] = numbers.copy()
    for i in range(len(out)):
        if out[i] >= 0:
            out[i] = final[out[i]]
    return out
