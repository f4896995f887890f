"""From the bytes of an XSpace message to a `Space`: which field is what.

What is damaged is `Damaged`; what is larger than any capture should be is
`TooLarge`, before memory is taken for it. Files are `source.py`'s.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from feedline.measure.profile.space import Line, Plane, Space, Stat, value_of
from feedline.measure.profile.wire import (
    Bytes,
    Damaged,
    count,
    fields,
    others,
    read_events,
    text,
)

_LATEST_NS = 10**17  # three years: what lies further off is not a time

LIMITS = {
    "planes": 10_000,
    "lines": 100_000,
    "names": 2_000_000,
    "events": 20_000_000,
}
"""What a capture may hold at most, so that a hostile one cannot take all memory.
200 MB of a real job are some two million events."""


class TooLarge(Damaged):
    """More of something than LIMITS allows."""


class _Budget:
    def __init__(self) -> None:
        self._left = dict(LIMITS)

    def take(self, what: str, count: int = 1) -> None:
        self._left[what] -= count
        if self._left[what] < 0:
            raise TooLarge(f"more than {LIMITS[what]:,} {what}")


def read_space(data: Bytes) -> Space:
    """The capture in these bytes; Damaged where they are not one."""
    planes: list[_RawPlane] = []
    hosts: list[str] = []
    errors: list[str] = []
    budget = _Budget()
    for part in fields(data, 0, len(data)):
        if part.number == 1:
            budget.take("planes")
            planes.append(_RawPlane(data, part.at, part.end, budget))
        elif part.number == 2 and len(errors) < 10:
            errors.append(text(data, part.at, min(part.end, part.at + 500)))
        elif part.number == 4 and len(hosts) < 10:
            hosts.append(text(data, part.at, min(part.end, part.at + 200)))
    starts = [
        line.timestamp for plane in planes for line in plane.lines if line.table.size
    ]
    base = min(starts, default=0)
    return Space(tuple(p.plane(base) for p in planes), tuple(hosts), tuple(errors))


class _RawLine:
    """A line as it lies in the file: times are still relative to its own start."""

    def __init__(self, data: Bytes, at: int, end: int, budget: _Budget) -> None:
        self.id, self.timestamp = 0, 0
        self.name = self.display = ""
        events = count(data, at, end, 4)
        if events < 0:
            raise Damaged(f"a broken line at byte {at}")
        budget.take("lines")
        budget.take("events", events)
        table = np.empty((5, events), np.int64)
        rows = read_events(data, at, end, 4, table)
        if rows < 0:
            raise Damaged(f"a broken event after byte {at}")
        self.table = table[:, :rows]
        for part in others(data, at, end, 4):
            if part.number == 1:
                self.id = part.value
            elif part.number == 2:
                self.name = text(data, part.at, part.end)
            elif part.number == 3:
                self.timestamp = part.value
            elif part.number == 11:
                self.display = text(data, part.at, part.end)

    def line(self, base: int) -> Line:
        """The columns are altered in place: there may be millions of rows."""
        name, start, end, at, until = self.table
        shift = min(_LATEST_NS, max(-_LATEST_NS, self.timestamp - base))
        np.floor_divide(start, 1000, out=start)
        np.clip(start, -_LATEST_NS, _LATEST_NS, out=start)
        start += shift
        np.floor_divide(end, 1000, out=end)
        np.clip(end, 0, _LATEST_NS, out=end)
        end += start
        line = Line(self.id, self.display or self.name, start, end, name, at, until)
        if (start[1:] < start[:-1]).any():
            line = line.part(np.argsort(start, kind="stable"))
        return line


class _RawPlane:
    def __init__(self, data: Bytes, at: int, end: int, budget: _Budget) -> None:
        self.name, self.data = "", data
        self.lines: list[_RawLine] = []
        self.names: dict[int, str] = {}
        self.displays: dict[int, str] = {}
        self.stat_names: dict[int, str] = {}
        self.metadata: dict[int, tuple[int, int]] = {}
        stats = []
        for part in fields(data, at, end):
            if part.number == 2:
                self.name = text(data, part.at, part.end)
            elif part.number == 3:
                self.lines.append(_RawLine(data, part.at, part.end, budget))
            elif part.number == 4:
                budget.take("names")
                self._event_name(part.at, part.end)
            elif part.number == 5:
                budget.take("names")
                key, name, _ = _entry(data, part.at, part.end)
                self.stat_names[key] = name
            elif part.number == 6:
                stats.append((part.at, part.end))
        self.stats = dict(
            stat for each in stats for stat in _stat(data, *each, self.stat_names)
        )

    def _event_name(self, at: int, end: int) -> None:
        key, name, (begins, ends) = _entry(self.data, at, end)
        self.names[key] = name
        self.metadata[key] = begins, ends
        for part in fields(self.data, begins, ends):
            if part.number == 4 and part.end > part.at:
                self.displays[key] = text(self.data, part.at, part.end)

    def plane(self, base: int) -> Plane:
        return Plane(
            self.name,
            tuple(line.line(base) for line in self.lines),
            self.names,
            self.displays,
            self.stats,
            self.data,
            self.stat_names,
            self.metadata,
        )


def _entry(data: Bytes, at: int, end: int) -> tuple[int, str, tuple[int, int]]:
    """An entry of a map from id to something with a name in field 2."""
    key, name, inside = 0, "", (at, at)
    for part in fields(data, at, end):
        if part.number == 1:
            key = part.value
        elif part.number == 2:
            inside = part.at, part.end
    for part in fields(data, *inside):
        if part.number == 2:
            name = text(data, part.at, part.end)
    return key, name, inside


def _stat(
    data: Bytes, at: int, end: int, names: Mapping[int, str]
) -> list[tuple[str, Stat]]:
    key, found = 0, None
    for part in fields(data, at, end):
        if part.number == 1:
            key = part.value
        else:
            found = value_of(data, part.number, part.value, part.at, part.end, names)
    return [] if found is None else [(names.get(key, str(key)), found)]
