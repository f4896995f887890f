"""What the host was doing: its threads' events as spans of each kind.

The one difficulty is whose work it is. The pipeline's functions run in the same
threads as the step's operations; they are told apart by the id that a function's
run and the executor's work on it share. And a thread that is inside a call may be
working or waiting; only the events within the call tell.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from feedline.measure.profile import names
from feedline.measure.profile.space import Line, Plane
from feedline.measure.profile.spans import NONE, Spans, covers, joined, union, without

Ints = NDArray[np.int64]

NO_IDS: Ints = np.empty(0, np.int64)

WORDS = (
    *("none", "wait", "stage", "op", "copy-in", "copy-out", "exchange", "compile"),
    *("launch", "call", "blocked", "sync", "python", "kernel", "other"),
)


@dataclass(frozen=True)
class Called:
    """A call from Python that may be a step: a marked one, or a `tf.function`."""

    name: str
    start: int
    end: int
    marked: bool = False
    traced: bool = False


@dataclass(frozen=True)
class Host:
    """Spans by what the host did: the words of `names.on_host`, and

        inside   the main thread is in a call or an operation
        calling  the main thread itself works on a call, on its way in or out
        feeding  a thread of the step's works on a function of the pipeline

    `ops` are the step's operations that ran on the CPU, each with its starts and
    ends. `launches` are moments and the driver's numbers of what was launched."""

    spans: dict[str, Spans]
    ops: tuple[tuple[str, Ints, Ints], ...] = ()
    calls: tuple[Called, ...] = ()
    launches: tuple[Ints, Ints] = (NO_IDS, NO_IDS)

    def get(self, word: str) -> Spans:
        return self.spans.get(word, NONE)


def read_host(planes: Collection[Plane], placed: Collection[str]) -> Host:
    """`placed` are the names of operations that ran on a device."""
    threads = [
        _Thread(plane, line)
        for plane in planes
        for line in plane.lines
        if len(line) and line.name not in names.DERIVED_LINES
    ]
    fed = _input_ids(threads)
    spans: dict[str, list[Spans]] = {}
    ops: dict[str, list[tuple[Ints, Ints]]] = {}
    calls: list[Called] = []
    for thread in threads:
        calls += thread.calls()
        thread.leave_out(fed)
        thread.settle(placed)
        for kind, covered in thread.spans().items():
            spans.setdefault(kind, []).append(covered)
        for name, start, end in thread.ops():
            ops.setdefault(name, []).append((start, end))
        spans.setdefault("feeding", []).append(thread.feeding)
    main = max(threads, key=_Thread.main_ness, default=None)
    if main is not None and main.main_ness() > 0:
        spans["inside"] = [main.inside()]
        spans["calling"] = [main.calling()]
    return Host(
        {kind: joined(*parts) for kind, parts in spans.items()},
        tuple(
            (
                name,
                np.concatenate([a for a, _ in rows]),
                np.concatenate([b for _, b in rows]),
            )
            for name, rows in ops.items()
        ),
        tuple(sorted(calls, key=lambda call: call.start)),
        _launches(threads),
    )


def _input_ids(threads: Collection[_Thread]) -> Ints:
    """The runs of functions that belong to a pipeline."""
    found = [NO_IDS]
    for thread in threads:
        part = thread.line.part(thread.named("InstantiatedCaptured"))
        has, value = thread.plane.numbers(part, "id")
        found.append(value[has])
    return np.unique(np.concatenate(found))


def _launches(threads: Collection[_Thread]) -> tuple[Ints, Ints]:
    moments, numbers = [NO_IDS], [NO_IDS]
    for thread in threads:
        part = thread.line.part(thread.is_("kernel"))
        has, value = thread.plane.numbers(part, "correlation_id")
        moments.append(part.start[has])
        numbers.append(value[has])
    return np.concatenate(moments), np.concatenate(numbers)


class _Thread:
    """One thread; `kind` holds a place in WORDS for every event."""

    def __init__(self, plane: Plane, line: Line) -> None:
        self.plane, self.line = plane, line
        keys, which = np.unique(line.name_of, return_inverse=True)
        self._which = which.astype(np.int32)
        self._names = [plane.names.get(int(key), "") for key in keys]
        words = [WORDS.index(names.on_host(name)) for name in self._names]
        self.kind = np.array(words, np.int8)[self._which]
        self.data = names.is_data_thread(line.name)
        self.feeding: Spans = NONE

    def is_(self, *words: str) -> NDArray[np.bool_]:
        return np.isin(self.kind, [WORDS.index(word) for word in words])

    def named(self, *starts: str) -> NDArray[np.bool_]:
        chosen = np.array([name.startswith(starts) for name in self._names], bool)
        return chosen[self._which]

    def leave_out(self, fed: Ints) -> None:
        """Work on the pipeline's functions is not the step's; a name that nobody
        knows is a kernel only where the driver says that it launched one, and an
        operation where XLA says so, which runs them on the CPU by its own names."""
        line = self.line
        strange = np.flatnonzero(self.is_("kernel"))
        launched = self.plane.has(line.part(strange), "correlation_id")
        compiled = self.plane.has(line.part(strange), "hlo_op")
        self.kind[strange[~launched]] = WORDS.index("other")
        self.kind[strange[compiled & ~launched]] = WORDS.index("op")
        rows = self._fed(self.named("ExecutorState::Process"), fed)
        feeding = union(line.start[rows], line.end[rows])
        self.feeding = NONE if self.data else feeding
        inside = covers(feeding, line.start)
        inside |= np.isin(np.arange(len(line)), self._fed(self.is_("wait"), fed))
        if self.data:
            # Its own threads work for the pipeline; only waiting for it is the step's.
            inside |= ~self.is_("wait", "stage")
        self.kind[inside] = WORDS.index("none")

    def _fed(self, chosen: NDArray[np.bool_], fed: Ints) -> Ints:
        rows = np.flatnonzero(chosen)
        has, value = self.plane.numbers(self.line.part(rows), "id")
        return rows[has & np.isin(value, fed)]

    def _on_device(self, placed: Collection[str]) -> NDArray[np.bool_]:
        """Which operations only launch kernels: a device ran them, or a kernel is
        launched inside."""
        line = self.line
        known = np.array([name in placed for name in self._names], bool)[self._which]
        launched = np.sort(line.start[self.is_("kernel")])
        first = np.searchsorted(launched, line.start, "left")
        after = np.searchsorted(launched, line.end, "left")
        return known | (after > first)

    def settle(self, placed: Collection[str]) -> None:
        """An operation that a device ran was only launched here."""
        ops = self.is_("op")
        if ops.any():
            self.kind[ops & self._on_device(placed)] = WORDS.index("kernel")

    def spans(self) -> dict[str, Spans]:
        line = self.line
        found = {}
        for code in np.unique(self.kind):
            if WORDS[code] not in ("none", "stage"):
                rows = self.kind == code
                found[WORDS[code]] = union(line.start[rows], line.end[rows])
        return found

    def ops(self) -> Iterator[tuple[str, Ints, Ints]]:
        chosen = self.is_("op")
        which, line = self._which[chosen], self.line.part(chosen)
        order = np.argsort(which, kind="stable")
        edges = np.flatnonzero(np.diff(which[order], prepend=-1))
        for rows in np.split(order, edges[1:]):
            if len(rows):
                yield self._names[which[rows[0]]], line.start[rows], line.end[rows]

    def main_ness(self) -> int:
        """The thread in which Python runs calls the runtime."""
        return 0 if self.data else int(self.is_("call", "blocked").sum())

    def inside(self) -> Spans:
        chosen = ~self.is_("none", "python")
        return union(self.line.start[chosen], self.line.end[chosen])

    def calling(self) -> Spans:
        line, blocked = self.line, self.is_("blocked")
        call = self.is_("call", "other")
        waiting = union(line.start[blocked], line.end[blocked])
        return without(union(line.start[call], line.end[call]), waiting)

    def calls(self) -> Iterator[Called]:
        if self.data:
            return
        part, which, plane = self.line, self._which, self.plane
        marked = plane.has(part, "step_num")
        traced = plane.has(part, "tf_function_call")
        jitted = self.named("PjitFunction", "jit(")
        for row in np.flatnonzero(marked | traced | jitted):
            how = plane.stat(part.part(np.array([row])), "tf_function_call")[0]
            yield Called(
                self._names[which[row]][:200],
                int(part.start[row]),
                int(part.end[row]),
                marked=bool(marked[row]),
                traced=isinstance(how, str) and how.startswith("traced"),
            )
