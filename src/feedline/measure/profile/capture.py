"""`Capture`: what a profiler capture says of a job's steps, as plain data.

Times are milliseconds per step. `parts` gives each kind of `kinds.KINDS` its time;
they add up to a step. Observed, never intervened: nothing here was tried.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from feedline.job.tfdata.pipeline import Pipeline
from feedline.measure.profile.kernels import Kernels
from feedline.measure.profile.kinds import KINDS
from feedline.measure.stage_cost import StageCost


@dataclass(frozen=True)
class Copies:
    """All copies of one kind in a step. `bus` is about what the bus carries, in
    GB/s, by the device's generation."""

    kind: str
    count: float
    bytes: float
    ms: float
    pinned: bool | None = None
    bus: float | None = None

    @property
    def gb_per_s(self) -> float | None:
        return self.bytes / self.ms / 1e6 if self.ms > 0 and self.bytes > 0 else None


@dataclass(frozen=True)
class Unit:
    """A device: its share of the time spent computing, and what it is."""

    name: str
    busy: float
    capability: tuple[int, int] | None = None
    cores: int | None = None

    @property
    def label(self) -> str:
        """`GPU:0 (compute capability 7.5, 40 multiprocessors)`"""
        if self.capability is None:
            return self.name
        what = "compute capability {}.{}".format(*self.capability)
        return f"{self.name} ({what}, {self.cores or '?'} multiprocessors)"

    @property
    def tensor_cores(self) -> bool:
        return self.capability is not None and self.capability >= (7, 0)


@dataclass(frozen=True)
class Span:
    start_ms: float
    end_ms: float
    kind: str
    label: str = ""


@dataclass(frozen=True)
class Lane:
    name: str
    spans: tuple[Span, ...]


@dataclass(frozen=True)
class Capture:
    """`host_ops` are the step's operations that ran on the CPU while no device
    computed; `traced` are functions that were traced anew, and how often;
    `threads` are those seen of the largest pool, `eager_ops` operations per step that
    Python ran one by one."""

    source: str
    step_ms: tuple[float, ...]
    boundaries: str
    called: str
    parts: Mapping[str, float]
    units: tuple[Unit, ...] = ()
    copies: tuple[Copies, ...] = ()
    kernels: Kernels = field(default_factory=Kernels)
    host_ops: tuple[tuple[str, float], ...] = ()
    traced: tuple[tuple[str, int], ...] = ()
    pipeline: Pipeline | None = None
    stages: tuple[StageCost, ...] = ()
    waited: tuple[tuple[str, float], ...] = ()
    cores: int | None = None
    threads: int = 1
    eager_ops: float = 0.0
    lanes: tuple[Lane, ...] = ()
    marks: tuple[tuple[float, float], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def accelerated(self) -> bool:
        return bool(self.units)

    @property
    def total(self) -> float:
        return sum(self.parts.values())

    @property
    def busy(self) -> float:
        """The share of a step in which the devices compute, on average."""
        return self.parts["compute"] / self.total if self.total else 0.0

    @property
    def input_explained(self) -> bool:
        """Is the wait for input about what the stages worked? Else one that began
        before the capture is to blame, and those that were seen are not."""
        worked = sum(cost.ms_per_batch for cost in self.stages)
        return self.parts["input"] < 0.05 * self.total or (
            worked > 0.2 * self.parts["input"]
        )

    def share(self, kind: str) -> float:
        return self.parts[kind] / self.total if self.total else 0.0

    def four(self) -> dict[str, float]:
        """Milliseconds under the report's four shares."""
        sums = dict.fromkeys(("input", "transfer", "overhead", "compute"), 0.0)
        for kind, ms in self.parts.items():
            sums[KINDS[kind]] += ms
        return sums

    def copy(self, kind: str) -> Copies | None:
        return next((each for each in self.copies if each.kind == kind), None)
