"""A hash table from words, as bytes, to numbers in the order of first sight.

Open addressing, linear probing. A slot is two 64-bit words:

    slots[2 i]       the first eight bytes of the word, zeros after its end
    slots[2 i + 1]   21 bits of the hash, 11 bits of length, 32 bits of number + 1

A word of up to eight bytes is thus recognised in the slot itself. The rest of a
longer one is compared with the arena, where every word lies padded with zeros to
a multiple of eight bytes: equal hashes alone never make two words one. Numbers
are given in the order of first sight, so frequent words have small ones and
their counts share few cache lines.

The kernels never allocate. Where something is full they return early, the owner
lets it grow (`Table.grow`) and calls again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from feedline.words.text.machine_words import load64, low_bytes, store64

LONGEST = 1024
"""Bytes of the longest word; what is longer is no word and is left out."""

ENTRIES, USED = 0, 1  # positions in `Table.state`

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_FINISH = np.uint64(0xD6E8FEB86659FD93)
_32 = np.uint64(32)
_29 = np.uint64(29)
_43 = np.uint64(43)
_11 = np.uint64(11)
_1 = np.uint64(1)
_0 = np.uint64(0)
_NUMBER = np.uint64(0xFFFFFFFF)


class Table:
    """The arrays of one table. One thread at a time may change them."""

    def __init__(self, slots: int = 1 << 16) -> None:
        self.slots = np.zeros(2 * slots, np.uint64)
        entries = slots // 2
        self.starts = np.zeros(entries, np.int64)
        self.lengths = np.zeros(entries, np.int32)
        self.counts = np.zeros(entries, np.int64)
        self.arena = np.zeros(slots * 4 + 2 * LONGEST, np.uint8)
        self.state = np.zeros(2, np.int64)

    def __len__(self) -> int:
        return int(self.state[ENTRIES])

    def grow(self) -> None:
        """Make room in whatever is full."""
        if self.state[USED] + 2 * LONGEST > len(self.arena):
            self.arena = _longer(self.arena)
        if len(self) == len(self.starts):
            if len(self) >= 1 << 30:
                raise OverflowError("more than 2**30 words in one table")
            self.starts = _longer(self.starts)
            self.lengths = _longer(self.lengths)
            self.counts = _longer(self.counts)
            self.slots = np.zeros(2 * len(self.slots), np.uint64)
            _rebuild(self.slots, self.starts, self.lengths, self.arena, len(self))

    def add(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        lengths: NDArray[np.int32],
        counts: NDArray[np.int64],
    ) -> NDArray[np.int32]:
        """Add words that lie in `data`, and their counts; their numbers here.

        Eight readable bytes follow the last word.
        """
        numbers = np.empty(len(starts), np.int32)
        done = 0
        while True:
            done = _add(
                data,
                starts,
                lengths,
                counts,
                numbers,
                done,
                self.slots,
                self.starts,
                self.lengths,
                self.counts,
                self.arena,
                self.state,
            )
            if done == len(starts):
                return numbers
            self.grow()

    def add_words(
        self, words: list[bytes], counts: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """Add words given as bytes; their numbers here."""
        data = np.frombuffer(bytearray(b"".join(words) + bytes(8)), np.uint8)
        lengths = np.fromiter(map(len, words), np.int32, len(words))
        starts = np.zeros(len(words), np.int64)
        np.cumsum(lengths[:-1], out=starts[1:])
        return self.add(data, starts, lengths, counts)

    def words(self, numbers: NDArray[Any]) -> list[bytes]:
        """The bytes of the words with these numbers."""
        arena = self.arena.data
        starts = self.starts[numbers]
        ends = starts + self.lengths[numbers]
        return [
            bytes(arena[start:end])
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        ]


def _longer(array: NDArray[Any]) -> NDArray[Any]:
    longer = np.zeros(2 * len(array), array.dtype)
    longer[: len(array)] = array
    return longer


@njit(inline="always")
def start_hash(first: Any) -> Any:
    """The hash of a word's first eight bytes."""
    return first * _FACTOR


@njit(inline="always")
def further_hash(value: Any, word: Any) -> Any:
    """The hash with eight more bytes taken in."""
    return ((value >> _29) ^ value ^ word) * _FACTOR


@njit(inline="always")
def mark_of(value: Any, length: Any) -> Any:
    """Finishes a hash: the slot to begin at, and the upper half of the slot."""
    value = (value ^ (value >> _32)) * _FINISH
    value ^= value >> _29
    return value, ((value >> _43) << _11) | np.uint64(length)


@njit(inline="always")
def first_and_hash(data: Any, at: int, length: int) -> Any:
    """A word's first eight bytes, and its hash, not finished yet."""
    first = low_bytes(load64(data, at), min(length, 8))
    value = start_hash(first)
    for position in range(8, length, 8):
        word = low_bytes(load64(data, at + position), min(length - position, 8))
        value = further_hash(value, word)
    return first, value


@njit(inline="always")
def same_rest(data: Any, at: int, arena: Any, start: int, length: int) -> bool:
    """Are the bytes from the ninth on equal? The arena's are padded with zeros."""
    for position in range(8, length, 8):
        word = low_bytes(load64(data, at + position), min(length - position, 8))
        if word != load64(arena, start + position):
            return False
    return True


@njit(inline="always")
def put(data: Any, at: int, length: int, start: int, arena: Any) -> int:
    """Copy a word to the arena's end, padded; the arena's new end."""
    for position in range(0, length, 8):
        word = low_bytes(load64(data, at + position), min(length - position, 8))
        store64(arena, start + position, word)
    return start + (length + 7) // 8 * 8


@njit(nogil=True, cache=True)
def _add(
    data: NDArray[np.uint8],
    from_starts: NDArray[np.int64],
    from_lengths: NDArray[np.int32],
    from_counts: NDArray[np.int64],
    numbers: NDArray[np.int32],
    done: int,
    slots: NDArray[np.uint64],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int32],
    counts: NDArray[np.int64],
    arena: NDArray[np.uint8],
    state: NDArray[np.int64],
) -> int:
    cover = np.uint64(len(slots) // 2 - 1)
    for i in range(done, len(from_starts)):
        at = from_starts[i]
        length = np.int64(from_lengths[i])
        first, value = first_and_hash(data, at, length)
        value, mark = mark_of(value, length)
        slot = value & cover
        while True:
            upper = slots[2 * slot + 1]
            if upper == _0:
                number = state[ENTRIES]
                if number == len(starts) or state[USED] + 2 * LONGEST > len(arena):
                    return i
                slots[2 * slot] = first
                slots[2 * slot + 1] = (mark << _32) | np.uint64(number + 1)
                starts[number] = state[USED]
                lengths[number] = length
                counts[number] = 0
                state[USED] = put(data, at, length, state[USED], arena)
                state[ENTRIES] = number + 1
                break
            number = np.int64(upper & _NUMBER) - 1
            if (
                (upper >> _32) == mark
                and slots[2 * slot] == first
                and (length <= 8 or same_rest(data, at, arena, starts[number], length))
            ):
                break
            slot = (slot + _1) & cover
        counts[number] += from_counts[i]
        numbers[i] = number
    return len(from_starts)


@njit(nogil=True, cache=True)
def _rebuild(
    slots: NDArray[np.uint64],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int32],
    arena: NDArray[np.uint8],
    entries: int,
) -> None:
    cover = np.uint64(len(slots) // 2 - 1)
    for number in range(entries):
        length = np.int64(lengths[number])
        first, value = first_and_hash(arena, starts[number], length)
        value, mark = mark_of(value, length)
        slot = value & cover
        while slots[2 * slot + 1] != _0:
            slot = (slot + _1) & cover
        slots[2 * slot] = first
        slots[2 * slot + 1] = (mark << _32) | np.uint64(number + 1)
