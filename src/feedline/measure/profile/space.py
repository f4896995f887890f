"""A capture as columns: planes (a host, a device), their lines (a thread, a
stream), and the events on them. Times are nanoseconds from the capture's start.

    Space -> Plane ("/host:CPU", "/device:GPU:0") -> Line -> start, end, name, ...

Names, not meanings: what an event tells of a step stands in `events.py`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from feedline.measure.profile.wire import Bytes, Ints, read_stat, text

Stat = int | float | str


@dataclass(frozen=True)
class Line:
    """A thread or a stream. `name_of` are ids into the plane's `names`; `at` and
    `until` are where each event lies in the file."""

    id: int
    name: str
    start: Ints
    end: Ints
    name_of: Ints
    at: Ints
    until: Ints

    def __len__(self) -> int:
        return len(self.start)

    def by_name(self) -> Iterator[tuple[int, Line]]:
        """The events of each name."""
        order = np.argsort(self.name_of, kind="stable")
        edges = np.flatnonzero(np.diff(self.name_of[order])) + 1
        for rows in np.split(order, edges):
            if len(rows):
                yield int(self.name_of[rows[0]]), self.part(rows)

    def part(self, chosen: NDArray[np.bool_] | Ints) -> Line:
        columns = (self.start, self.end, self.name_of, self.at, self.until)
        return Line(self.id, self.name, *(column[chosen] for column in columns))


@dataclass(frozen=True)
class Plane:
    """One host or device. `displays` are the readable names where there are any;
    `kinds` are stats of an event's name, as XLA keeps them."""

    name: str
    lines: tuple[Line, ...]
    names: Mapping[int, str]
    displays: Mapping[int, str]
    stats: Mapping[str, Stat]
    data: Bytes = field(repr=False)
    stat_names: Mapping[int, str] = field(repr=False)
    metadata: Mapping[int, tuple[int, int]] = field(repr=False)

    @cached_property
    def _stat_ids(self) -> Mapping[str, int]:
        return {name: key for key, name in self.stat_names.items()}

    def stat(self, line: Line, name: str) -> list[Stat | None]:
        """One stat of every event of a line; None where an event has it not."""
        return self._stat(line.at, line.until, 4, name)

    def has(self, line: Line, name: str) -> NDArray[np.bool_]:
        """Which events of a line have that stat."""
        has: NDArray[np.bool_] = self._raw(line.at, line.until, 4, name)[0] > 0
        return has

    def numbers(self, line: Line, name: str) -> tuple[NDArray[np.bool_], Ints]:
        """One stat that is a whole number: which events have it, and its values."""
        held, value, _, _ = self._raw(line.at, line.until, 4, name)
        return (held == 3) | (held == 4), value

    def _raw(self, begins: Ints, ends: Ints, where: int, name: str) -> Ints:
        out = np.zeros((4, len(begins)), np.int64)
        wanted = self._stat_ids.get(name)
        if wanted is not None and len(begins):
            read_stat(self.data, begins, ends, where, wanted, out)
        return out

    def _stat(
        self, begins: Ints, ends: Ints, where: int, name: str
    ) -> list[Stat | None]:
        raw = self._raw(begins, ends, where, name)
        return [self._value(*row) for row in zip(*raw.tolist(), strict=True)]

    def _value(self, held: int, value: int, at: int, end: int) -> Stat | None:
        return value_of(self.data, held, value, at, end, self.stat_names)


@dataclass(frozen=True)
class Space:
    planes: tuple[Plane, ...]
    hosts: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def events(self) -> int:
        return sum(len(line) for plane in self.planes for line in plane.lines)


def value_of(
    data: Bytes, held: int, value: int, at: int, end: int, names: Mapping[int, str]
) -> Stat | None:
    if held == 2:
        return float(struct.unpack("<d", struct.pack("<q", value))[0])
    if held in (3, 4):
        return value
    if held in (5, 6):
        return text(data, at, end)
    if held == 7:
        return names.get(value, "")
    return None
