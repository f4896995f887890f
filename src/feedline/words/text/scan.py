"""The kernel that cuts text into words and gives each its number.

One pass over the bytes does everything: words are found, 64 bytes at a time,
looked up in the table of the thread, counted, and their numbers written out with
an END for every line feed. Invalid UTF-8 and capitals are no matter here: they
are put right once for each distinct word when the tables are merged (merge.py),
not for every occurrence.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numba import njit
from numpy.typing import NDArray

from feedline.words.text.machine_words import prefetch, trailing_zeros, whitespace64
from feedline.words.text.shards import END
from feedline.words.text.table import (
    ENTRIES,
    LONGEST,
    USED,
    Table,
    first_and_hash,
    mark_of,
    put,
    same_rest,
)

SKIPPED = -2
"""Stands for a run of bytes that is too long for a word."""

PADDING = 72
"""Readable bytes that must follow a block."""

_AT, _EMITTED, _TOKENS, _LONG = 0, 1, 2, 3

# Words that are found before they are looked up, and how many more those 64
# bytes can hold that pass the limit: a line feed each, and a word before them.
_BATCH = 192
_MORE = 65

# Marks of what is no word: a word's is below 2 ** 32 and, for its length, not 0.
_END_MARK = np.uint64(0)
_LONG_MARK = np.uint64(1 << 40)

_32 = np.uint64(32)
_1 = np.uint64(1)
_0 = np.uint64(0)
_LENGTH = np.uint64(2047)
_NUMBER = np.uint64(0xFFFFFFFF)


class Scans(Protocol):
    """What turns blocks of text into numbers of words, and counts them."""

    table: Table

    @property
    def tokens(self) -> int:
        """All tokens seen."""

    @property
    def long(self) -> int:
        """Tokens that are too long for words."""

    @property
    def invalid(self) -> int:
        """Invalid UTF-8 that was replaced before words came to the table."""

    def scan(self, data: NDArray[np.uint8], size: int) -> NDArray[np.int32]:
        """The numbers of the words in `data[:size]`; a view until the next call.

        PADDING bytes follow them.
        """


class Scanner:
    """Scans blocks of text, one after the other, into one table."""

    def __init__(self, block: int, table: Table | None = None) -> None:
        self.table = Table() if table is None else table
        self.tokens = 0
        self.long = 0
        self.invalid = 0  # not known here: see merge.py
        self._ids = np.empty(block + 1, np.int32)

    def scan(self, data: NDArray[np.uint8], size: int) -> NDArray[np.int32]:
        """The numbers of the words in `data[:size]`; a view until the next call.

        The last of these bytes is whitespace; PADDING bytes follow them.
        """
        if size > len(self._ids):
            self._ids = np.empty(size, np.int32)
        table = self.table
        progress = np.zeros(4, np.int64)
        while True:
            _scan(
                data,
                size,
                table.slots,
                table.starts,
                table.lengths,
                table.counts,
                table.arena,
                table.state,
                self._ids,
                progress,
            )
            if progress[_AT] >= size:
                break
            table.grow()
        self.tokens += int(progress[_TOKENS])
        self.long += int(progress[_LONG])
        return self._ids[: progress[_EMITTED]]


@njit(nogil=True, cache=True)
def _scan(
    data: NDArray[np.uint8],
    size: int,
    slots: NDArray[np.uint64],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int32],
    counts: NDArray[np.int64],
    arena: NDArray[np.uint8],
    state: NDArray[np.int64],
    ids: NDArray[np.int32],
    progress: NDArray[np.int64],
) -> None:
    # Words are found in batches and looked up afterwards. Each slot is asked for
    # when its word is found, so that it has come from memory by the time it is
    # read: the tables of a real corpus are larger than the caches.
    places = np.empty(_BATCH + _MORE, np.int64)
    firsts = np.empty(_BATCH + _MORE, np.uint64)
    marks = np.empty(_BATCH + _MORE, np.uint64)
    homes = np.empty(_BATCH + _MORE, np.uint64)
    cover = np.uint64(len(slots) // 2 - 1)
    emitted = progress[_EMITTED]
    tokens = 0
    base = start = progress[_AT]
    while base < size:
        found = 0
        while base < size and found < _BATCH:
            white = whitespace64(data, base)
            if base + 64 > size:
                white &= (_1 << np.uint64(size - base)) - _1
            while white:
                end = base + np.int64(trailing_zeros(white))
                white &= white - _1
                length = end - start
                if length > LONGEST:
                    marks[found] = _LONG_MARK
                    found += 1
                elif length:
                    first, value = first_and_hash(data, start, length)
                    value, mark = mark_of(value, length)
                    home = value & cover
                    prefetch(slots, np.int64(2 * home))
                    places[found] = start
                    firsts[found] = first
                    marks[found] = mark
                    homes[found] = home
                    found += 1
                if data[end] == 10:
                    marks[found] = _END_MARK
                    found += 1
                start = end + 1
            base += 64
        for i in range(found):
            mark = marks[i]
            if mark == _END_MARK:
                ids[emitted] = END
                emitted += 1
                continue
            if mark == _LONG_MARK:
                ids[emitted] = SKIPPED
                emitted += 1
                tokens += 1
                progress[_LONG] += 1
                continue
            first = firsts[i]
            slot = homes[i]
            length = np.int64(mark & _LENGTH)
            while True:
                upper = slots[2 * slot + 1]
                number = np.int64(upper & _NUMBER) - 1
                if (
                    (upper >> _32) == mark
                    and slots[2 * slot] == first
                    and (
                        length <= 8
                        or same_rest(data, places[i], arena, starts[number], length)
                    )
                ):
                    break
                if upper == _0:
                    number = state[ENTRIES]
                    if number == len(starts) or state[USED] + 2 * LONGEST > len(arena):
                        # Full: the rest is scanned again when there is room.
                        progress[_AT] = places[i]
                        progress[_EMITTED] = emitted
                        progress[_TOKENS] += tokens
                        return
                    slots[2 * slot] = first
                    slots[2 * slot + 1] = (mark << _32) | np.uint64(number + 1)
                    starts[number] = state[USED]
                    lengths[number] = length
                    counts[number] = 0
                    state[USED] = put(data, places[i], length, state[USED], arena)
                    state[ENTRIES] = number + 1
                    break
                slot = (slot + _1) & cover
            counts[number] += 1
            ids[emitted] = number
            emitted += 1
            tokens += 1
    progress[_AT] = base
    progress[_EMITTED] = emitted
    progress[_TOKENS] += tokens
