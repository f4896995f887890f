"""The wire format of a capture, as far as it must be fast: fields, events, stats.

A capture is a protocol buffer (`XSpace`) of millions of small events. Making a
Python object of each would take gigabytes and minutes, so the events of a line go
straight into columns of numbers, and what an event carries besides (its stats)
stays where it is until somebody asks. TensorFlow is not needed.

Every length is checked against what is there: a damaged file is `Damaged`, never
a wrong number. Not for meaning: which field is what stands in `space.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5


class Damaged(Exception):
    """The bytes are not what the format allows."""


class Field(NamedTuple):
    """A field of a message. Numbers are in `value`; texts and messages lie in the
    bytes from `at` to `end`."""

    number: int
    value: int
    at: int
    end: int


MOST_FIELDS = 10_000_000
"""Of one message. A real one has thousands; more would only take time."""


def fields(data: Bytes, at: int, end: int) -> Iterator[Field]:
    """The fields of the message that lies between two places."""
    for _ in range(MOST_FIELDS):
        if at >= end:
            return
        number, value, at, to = _field(data, at, end)
        if number <= 0:
            raise Damaged(f"a broken field at byte {at}")
        yield Field(number, value, at, to)
        at = to
    raise Damaged(f"a message of more than {MOST_FIELDS:,} fields")


def others(data: Bytes, at: int, end: int, passed: int) -> Iterator[Field]:
    """The same without the fields of one number, which are most of the bytes."""
    while True:
        at = _past(data, at, end, passed)
        if at >= end:
            return
        found = next(fields(data, at, end))
        yield found
        at = found.end


def text(data: Bytes, at: int, end: int) -> str:
    return bytes(data[at:end]).decode("utf-8", "replace")


@njit(nogil=True, cache=True)
def _varint(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """A number and the place after it; the place is -1 where it is broken."""
    value = np.uint64(0)
    for shift in range(0, 70, 7):
        if at >= end:
            return 0, -1
        byte = np.uint64(data[at])
        at += 1
        value |= (byte & np.uint64(127)) << np.uint64(shift)
        if byte < np.uint64(128):
            return np.int64(value), at
    return 0, -1


@njit(nogil=True, cache=True)
def _field(data: Bytes, at: int, end: int) -> tuple[int, int, int, int]:
    """Number, value, where its bytes lie and end; number 0 where it is broken."""
    began = at
    tag, at = _varint(data, at, end)
    if at < 0 or tag < 8 or tag >> 3 > 536870911:
        return 0, 0, began, began
    number, kind = tag >> 3, tag & 7
    if kind == _VARINT:
        value, to = _varint(data, at, end)
        return (number, value, at, to) if to > 0 else (0, 0, began, began)
    if kind == _LENGTH:
        size, at = _varint(data, at, end)
        if at < 0 or size < 0 or size > end - at:
            return 0, 0, began, began
        return number, 0, at, at + size
    size = 8 if kind == _FIXED64 else 4 if kind == _FIXED32 else -1
    if size < 0 or at + size > end:
        return 0, 0, began, began
    value = np.uint64(0)
    for place in range(size):
        value |= np.uint64(data[at + place]) << np.uint64(8 * place)
    return number, np.int64(value), at, at + size


@njit(nogil=True, cache=True)
def _past(data: Bytes, at: int, end: int, passed: int) -> int:
    """The place of the first field that has another number, or that is broken."""
    while at < end:
        number, _, _, to = _field(data, at, end)
        if number != passed:
            return at
        at = to
    return at


@njit(nogil=True, cache=True)
def count(data: Bytes, at: int, end: int, wanted: int) -> int:
    """How many fields of that number; -1 where the message is broken."""
    found = 0
    while at < end:
        number, _, at, to = _field(data, at, end)
        if number <= 0:
            return -1
        found += number == wanted
        at = to
    return found


@njit(nogil=True, cache=True)
def read_events(data: Bytes, at: int, end: int, wanted: int, table: Any) -> int:
    """The events of a line as columns: metadata id, offset in ps, duration in ps,
    where the event's bytes lie and end. Gives how many; -1 if broken.
    An event without an offset (a mere count of occurrences) is left out."""
    row = 0
    while at < end:
        number, _, at, to = _field(data, at, end)
        if number <= 0:
            return -1
        if number == wanted:
            name, offset, duration, timed, place = 0, 0, 0, True, at
            while place < to:
                which, value, place, after = _field(data, place, to)
                if which <= 0:
                    return -1
                if which == 1:
                    name = value
                elif which == 2:
                    offset = value
                elif which == 3:
                    duration = value
                elif which == 5:
                    timed = False
                place = after
            if timed:
                table[0, row] = name
                table[1, row] = offset
                table[2, row] = duration
                table[3, row] = at
                table[4, row] = to
                row += 1
        at = to
    return row


@njit(nogil=True, cache=True)
def read_stat(
    data: Bytes, begins: Ints, ends: Ints, field: int, wanted: int, out: Any
) -> None:
    """One stat of many messages: for each the field that holds its value (2 a
    double, 3 and 4 whole numbers, 5 a text, 6 bytes, 7 a reference; 0: absent),
    the number, and where its bytes lie and end. `field` is where the message keeps
    its stats."""
    for row in range(len(begins)):
        at, end = begins[row], ends[row]
        while at < end:
            number, _, at, to = _field(data, at, end)
            if number <= 0:
                break
            if number == field:
                name, held, held_value, place = 0, 0, 0, at
                held_at, held_end = at, at
                while place < to:
                    which, value, place, after = _field(data, place, to)
                    if which <= 0:
                        break
                    if which == 1:
                        name = value
                    else:
                        held, held_value = which, value
                        held_at, held_end = place, after
                    place = after
                if name == wanted:
                    out[0, row] = held
                    out[1, row] = held_value
                    out[2, row] = held_at
                    out[3, row] = held_end
                    break
            at = to
