"""What the capture saw of each stage of a `tf.data` pipeline.

The profiler names every stage by its path from the end of the pipeline,

    Iterator::Root::Prefetch::ParallelMapV2::BatchV2::TensorSlice

A stage's own time is its events' less those of the stages inside them. A stage
that works ahead only waits in its own event; its work is what threads do for its
function, which the id of the function's run tells. `pipeline.py` makes a Pipeline
and costs of it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from feedline.measure.profile import names
from feedline.measure.profile.space import Line, Plane
from feedline.measure.profile.spans import (
    Ints,
    Spans,
    covers,
    joined,
    parents,
    union,
    without,
)

Path = tuple[str, ...]

AHEAD = (
    *("Prefetch", "ParallelMap", "MapAndBatch", "ParallelInterleave"),
    *("ParallelBatch", "ParallelFilter", "LegacyParallelInterleave"),
)
_INNER = re.compile(r"((?:Legacy)?(?:Parallel)?Interleave(?:V\d)?|FlatMap)\[\d+\]")
_PYTHON = ("PyFunc", "EagerPyFunc", "PyFuncStateless")


@dataclass
class Seen:
    """One stage: its own time and the work done for it, thread by thread; when
    it was asked for an element."""

    own: list[Spans] = field(default_factory=list)
    work: list[Spans] = field(default_factory=list)
    starts: list[Ints] = field(default_factory=list)
    parallelism: int = 1
    injected: bool = False
    python: bool = False

    def busy(self, ahead: bool) -> list[Spans]:
        return self.work if ahead else self.own


def read_stages(planes: Collection[Plane]) -> dict[Path, Seen]:
    """Every stage by its path."""
    seen: dict[Path, Seen] = {}
    runs: dict[Path, list[Ints]] = {}
    lines = [(plane, line) for plane in planes for line in plane.lines if len(line)]
    for plane, line in lines:
        _Thread(plane, line).read(seen, runs)
    for plane, line in lines:
        _add_work(plane, line, seen, runs)
    return seen


@lru_cache(maxsize=100_000)
def path_of(name: str) -> Path:
    """The stages from the end of the pipeline to this one; () for other names.
    The pipelines inside an interleave are all alike: FlatMap[17] is FlatMap[]."""
    if not name.startswith("Iterator::"):
        return ()
    return tuple(_INNER.sub(r"\1[]", part) for part in name.split("::")[1:])


def before(path: Path) -> Path:
    """The path of the stage that reads from this one: Zip[0]::Map is read by Zip."""
    if len(path) < 2:
        return ()
    return (*path[:-2], re.sub(r"\[\d*\]$", "", path[-2]))


class _Thread:
    """The events of one thread that are about stages, the outer ones first."""

    def __init__(self, plane: Plane, line: Line) -> None:
        self.plane = plane
        keys = np.unique(line.name_of).tolist()
        self.names = {key: plane.names.get(key, "") for key in keys}
        self.paths = {
            key: path for key, name in self.names.items() if (path := path_of(name))
        }
        if not self.paths:
            return
        self.runs = [k for k, n in self.names.items() if "CapturedFunction" in n]
        producers = [k for k, n in self.names.items() if n.endswith("Produce")]
        wanted = [*self.paths, *self.runs, *producers]
        line = line.part(np.isin(line.name_of, wanted))
        order, self.above = parents(line.start, line.end)
        self.line = line.part(order)

    def read(self, seen: dict[Path, Seen], runs: dict[Path, list[Ints]]) -> None:
        if not self.paths:
            return
        line = self.line
        staged = np.isin(line.name_of, list(self.paths))
        for key, path in self.paths.items():
            rows = line.name_of == key
            each = seen.setdefault(path, Seen())
            each.starts.append(line.start[rows])
            each.own.append(self._own(rows, staged))
            self._describe(np.flatnonzero(rows)[:1], each)
        for path, ids in self._runs(staged):
            runs.setdefault(path, []).append(ids)

    def _own(self, rows: NDArray[np.bool_], staged: NDArray[np.bool_]) -> Spans:
        """The time in these events but not in a stage directly inside one."""
        line = self.line
        inner = np.flatnonzero(staged & (self.above >= 0))
        inner = inner[rows[self.above[inner]]]
        inside = union(line.start[inner], line.end[inner])
        return without(union(line.start[rows], line.end[rows]), inside)

    def _describe(self, first: Ints, each: Seen) -> None:
        part = self.line.part(first)
        has, value = self.plane.numbers(part, "parallelism")
        if has.any():
            each.parallelism = max(1, min(int(value[0]), 4096))
        name = next(iter(self.plane.stat(part, "name")), None)
        each.injected |= isinstance(name, str) and name.startswith("inject/")

    def _runs(self, staged: NDArray[np.bool_]) -> list[tuple[Path, Ints]]:
        """The runs of functions by the stage that they belong to: the one whose
        event they lie in, or whose producer's, which holds the stage before it."""
        line, above = self.line, self.above
        paths = sorted({*self.paths.values(), *map(before, self.paths.values())})
        place = {path: index for index, path in enumerate(paths)}
        owner = np.full(len(line) + 1, -1)  # the last: for events without a parent
        for key, path in self.paths.items():
            rows = np.flatnonzero(line.name_of == key)
            outer = above[rows]
            outer = outer[(outer >= 0) & ~staged[outer]]
            owner[outer] = place[before(path)]
        for key, path in self.paths.items():
            owner[:-1][line.name_of == key] = place[path]
        calls = np.flatnonzero(np.isin(line.name_of, self.runs))
        has, ids = self.plane.numbers(line.part(calls), "id")
        owners = owner[above[calls]]
        return [
            (paths[index], ids[has & (owners == index)])
            for index in np.unique(owners[has & (owners >= 0)])
        ]


def _add_work(
    plane: Plane, line: Line, seen: dict[Path, Seen], runs: dict[Path, list[Ints]]
) -> None:
    """What this thread did for the functions of each stage."""
    keys = np.unique(line.name_of).tolist()
    process = [k for k in keys if plane.names.get(k) == "ExecutorState::Process"]
    python = [k for k in keys if names.op_type(plane.names.get(k, "")) in _PYTHON]
    if not process or not runs:
        return
    part = line.part(np.isin(line.name_of, process))
    has, value = plane.numbers(part, "id")
    calls = line.start[np.isin(line.name_of, python)]
    for path, ids in runs.items():
        rows = has & np.isin(value, np.concatenate(ids))
        if rows.any():
            spans = union(part.start[rows], part.end[rows])
            each = seen.setdefault(path, Seen())
            each.work.append(spans)
            each.python |= bool(covers(joined(spans), calls).any())
