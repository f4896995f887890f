"""What each device was doing: computing, copying, exchanging; its copies and
kernels by name. A device is a GPU or TPU plane that did something."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from feedline.measure.profile import names
from feedline.measure.profile.space import Line, Plane
from feedline.measure.profile.spans import NONE, Ints, Spans, joined, union

_SIZE = re.compile(r"size:(\d{1,15})")
_SOURCE = re.compile(r"kind_src:(\w+)")
NO_IDS: Ints = np.empty(0, np.int64)
_MOST_ASKED = 200_000  # kernels that are asked for the operation they belong to


@dataclass(frozen=True)
class Copy:
    """Copies in one direction; `pinned` is None where the capture does not tell."""

    kind: str
    start: Ints
    end: Ints
    bytes: Ints
    pinned: bool | None = None


@dataclass(frozen=True)
class Kernel:
    """All runs of one kernel."""

    name: str
    kind: str
    start: Ints
    end: Ints


@dataclass(frozen=True)
class Device:
    """`capability` is (7, 5) for a T4, None for what is not CUDA; `steps` are the
    steps that the profiler itself marked on the device, if it did; `launched` the
    ends of all events and the numbers under which the driver launched them."""

    name: str
    spans: dict[str, Spans]
    kernels: tuple[Kernel, ...]
    copies: tuple[Copy, ...]
    capability: tuple[int, int] | None = None
    cores: int | None = None
    steps: Spans = field(default_factory=lambda: NONE)
    ops: frozenset[str] = frozenset()
    launched: tuple[Ints, Ints] = field(default_factory=lambda: (NO_IDS, NO_IDS))

    def get(self, kind: str) -> Spans:
        return self.spans.get(kind, NONE)


def read_devices(planes: Collection[Plane]) -> tuple[Device, ...]:
    """Those that compute. A plane of which nothing or only copies were recorded is
    left out, unless there is no other."""
    devices = [_read(plane) for plane in planes if names.is_device(plane.name)]
    busy = [device for device in devices if device.spans]
    return tuple([device for device in busy if "compute" in device.spans] or busy)


def _lines(plane: Plane) -> list[Line]:
    """The lines that hold the work itself, once: streams, or a TPU's operations."""
    streams = [line for line in plane.lines if line.name.startswith("Stream")]
    if streams:
        return streams
    ops = [line for line in plane.lines if line.name == "XLA Ops"]
    own = [line for line in plane.lines if line.name not in names.DERIVED_LINES]
    modules = [line for line in plane.lines if line.name == "XLA Modules"]
    return ops or own or modules


def _read(plane: Plane) -> Device:
    spans: dict[str, list[Spans]] = {}
    kernels: dict[tuple[str, str], list[Line]] = {}
    copies: dict[str, list[Line]] = {}
    asked = 0
    ops: set[str] = set()
    for line in _lines(plane):
        for key, part in line.by_name():
            name = plane.names.get(key, "")
            kind = names.on_device(name)
            spans.setdefault(kind, []).append(union(part.start, part.end))
            if kind.startswith("copy"):
                copies.setdefault(kind, []).append(part)
            else:
                kernels.setdefault((name, kind), []).append(part)
            if asked < _MOST_ASKED:
                asked += len(part)
                ops |= _operations(plane, part)
    for line in plane.lines:
        if line.name in ("TensorFlow Ops", "Framework Ops"):
            ops |= {plane.names.get(int(key), "") for key in np.unique(line.name_of)}
    stats = plane.stats
    major, minor = stats.get("compute_cap_major"), stats.get("compute_cap_minor")
    known = isinstance(major, int) and isinstance(minor, int)
    count = stats.get("core_count")
    return Device(
        plane.name.removeprefix("/device:"),
        {k: s for k, parts in spans.items() if len(s := joined(*parts))},
        tuple(_kernel(name, kind, parts) for (name, kind), parts in kernels.items()),
        tuple(_copy(plane, kind, parts) for kind, parts in copies.items()),
        (int(major), int(minor)) if known else None,  # type: ignore[arg-type]
        count if isinstance(count, int) else None,
        _steps(plane),
        frozenset(ops),
        _launched(plane),
    )


def _launched(plane: Plane) -> tuple[Ints, Ints]:
    ends, numbers = [NO_IDS], [NO_IDS]
    for line in _lines(plane):
        has, value = plane.numbers(line, "correlation_id")
        ends.append(line.end[has])
        numbers.append(value[has])
    return np.concatenate(ends), np.concatenate(numbers)


def _operations(plane: Plane, part: Line) -> set[str]:
    """`dense/MatMul:MatMul`, as a kernel says which operation launched it."""
    found = set()
    for stat in ("tf_op", "annotation", "level 0", "name"):
        for text in set(plane.stat(part, stat)):
            if isinstance(text, str) and ":" in text:
                found.add(text.partition("#")[0].rpartition("::")[2] or text)
    return found


def _steps(plane: Plane) -> Spans:
    marked = [line for line in plane.lines if line.name == "Steps" and len(line)]
    if not marked:
        return NONE
    return np.stack([marked[0].start, marked[0].end], axis=1)


def _kernel(name: str, kind: str, parts: list[Line]) -> Kernel:
    start = np.concatenate([part.start for part in parts])
    end = np.concatenate([part.end for part in parts])
    order = np.argsort(start, kind="stable")
    return Kernel(name, kind, start[order], end[order])


def _copy(plane: Plane, kind: str, parts: list[Line]) -> Copy:
    sizes, sources = [], set()
    for part in parts:
        for text in plane.stat(part, "memcpy_details"):
            details = text if isinstance(text, str) else ""
            found = _SIZE.search(details)
            sizes.append(int(found.group(1)) if found else 0)
            source = _SOURCE.search(details)
            if source and int(sizes[-1]) >= 2**16:
                sources.add(source.group(1))
    pinned = None if not sources else sources <= {"pinned", "managed", "registered"}
    start = np.concatenate([part.start for part in parts])
    end = np.concatenate([part.end for part in parts])
    return Copy(kind, start, end, np.array(sizes, np.int64), pinned)
