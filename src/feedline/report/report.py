"""`Report`: one verdict as one value, which can be saved and shown again.

Holds only plain data, so a report read back from JSON shows the same as the
one that was measured. The JSON field names are the public contract, schema 1:
fields may be added, never renamed. A float that was not measured is None where
the type says so, else NaN; both are `null` in JSON.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TextIO

from feedline.report.basis import Basis

SCHEMA = 1

SHARES = ("input", "transfer", "overhead", "compute")
"""What a step is made of, in the order a batch meets them. `Report.shares` has
these keys and `Report.bound` is one of them."""

_FEWEST_WAITS = 3
_WORTH_A_WORD_S = 0.05


@dataclass(frozen=True)
class MachineRow:
    cores: int
    memory_gb: float
    devices: tuple[str, ...]


@dataclass(frozen=True)
class StepRow:
    """`cpu_ms` is the CPU time of the step at its ceiling, over all cores."""

    observed_ms: float
    ceiling_ms: float
    input_alone_ms: float | None
    batch_size: int | None
    steps: int
    interval_ms: tuple[float, float]
    host_fed_ms: float | None = None
    ceiling_interval_ms: tuple[float, float] | None = None
    overhead_ms: float | None = None
    cpu_ms: float | None = None


@dataclass(frozen=True)
class LineRow:
    where: str
    seconds: float
    code: str = ""


@dataclass(frozen=True)
class RunRow:
    """`passes_waited` of the `passes_ended` while measuring waited for AUTOTUNE's
    thread at their end, `pass_end_wait_s` each on the average."""

    import_s: float
    prepare_s: float
    trace_s: float
    train_s: float | None
    slowest_lines: tuple[LineRow, ...] = ()
    epoch_s: float | None = None
    epoch_start_s: float | None = None
    epochs: int | None = None
    steps_per_epoch: int | None = None
    passes_ended: int | None = None
    passes_waited: int | None = None
    pass_end_wait_s: float | None = None

    @property
    def ends_wait(self) -> bool:
        """Is it worth a word, and more than chance?"""
        least = max(_FEWEST_WAITS, (self.passes_ended or 0) / 10)
        long = (self.pass_end_wait_s or 0.0) >= _WORTH_A_WORD_S
        return long and (self.passes_waited or 0) >= least


@dataclass(frozen=True)
class StageRow:
    """`busy` is the part of its time in which it keeps a core busy. `ahead`: it
    works in threads of its own; `tuned`: TensorFlow chooses how many; `python`: the
    interpreter runs one of them at a time; `added`: TensorFlow put it in. `inputs`
    are the places of the rows that feed it, None where that is not known.
    `first_ms_per_step` is its cost in the first epoch, where a cache spares it
    later."""

    name: str
    where: str | None
    ms_per_element: float
    share: float
    bytes_per_element: float
    ms_per_step: float = 0.0
    parallelism: int = 1
    code: str = ""
    label: str = ""
    busy: float = 1.0
    ahead: bool = False
    tuned: bool = False
    python: bool = False
    added: bool = False
    inputs: tuple[int, ...] | None = None
    first_ms_per_step: float | None = None


@dataclass(frozen=True)
class FindingRow:
    cause: str
    where: str | None
    cost_ms: float
    evidence: str
    fixes: tuple[str, ...]
    title: str = ""
    code: str = ""


@dataclass(frozen=True)
class FixRow:
    fix: str
    grade: str
    predicted_gain: float | None
    measured_gain: float | None
    interval: tuple[float, float] | None
    applied: bool
    where: str | None = None
    code: str = ""
    title: str = ""
    reason: str = ""


@dataclass(frozen=True)
class AfterRow:
    """`steps` and `seconds` are of the training that went on with the fixes, where
    it did; `saved_s` is what it would have taken more without them. `ceiling_ms` and
    `stages` are what the plan expects of the step alone and of the pipeline, and
    `shares` splits the measured step by them."""

    observed_ms: float
    speedup: float
    interval: tuple[float, float]
    before_ms: float | None = None
    steps: int | None = None
    seconds: float | None = None
    saved_s: float | None = None
    measuring_s: float | None = None
    ceiling_ms: float | None = None
    shares: dict[str, float] | None = None
    stages: tuple[StageRow, ...] = ()


@dataclass(frozen=True)
class ProofRow:
    same: str
    elements_compared: int
    epochs_compared: int
    steps_compared: int = 0
    text: str = ""


@dataclass(frozen=True)
class SpanRow:
    """`kind` is one of `feedline.measure.profile.kinds.KINDS`; `label` says what ran:
    a kernel, an op, a stage of the pipeline."""

    start_ms: float
    end_ms: float
    kind: str
    label: str = ""


@dataclass(frozen=True)
class TimelineRow:
    """One lane: what the step is made of, the host, its input, copies, a device.
    Its spans are in order and do not overlap."""

    lane: str
    spans: tuple[SpanRow, ...] = ()


@dataclass(frozen=True)
class Timeline:
    """A few steps as a capture saw them; times count from the first step's start.
    `steps` are the steps' own starts and ends."""

    rows: tuple[TimelineRow, ...]
    steps: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class PartRow:
    """A part of the captured steps: its kind, its share of the time, milliseconds
    per step, and under which of the report's four shares it is counted."""

    kind: str
    share: float
    ms: float
    counts_as: str


@dataclass(frozen=True)
class TraceRow:
    """What a profiler capture says. The parts' shares add up to 1; `unknown` is
    the share of those that nothing in the capture explains."""

    source: str
    parts: tuple[PartRow, ...]
    unknown: float
    busy: float
    devices: tuple[str, ...]
    steps: int
    boundaries: str = ""


@dataclass(frozen=True)
class Report:
    version: str
    machine: MachineRow
    step: StepRow
    shares: dict[str, float]
    bound: str
    run: RunRow
    verdict: str
    stages: tuple[StageRow, ...] = ()
    findings: tuple[FindingRow, ...] = ()
    fixes: tuple[FixRow, ...] = ()
    after: AfterRow | None = None
    proof: ProofRow | None = None
    seconds: float = 0.0
    script: str = ""
    loop: str = ""
    unknown: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    trace: TraceRow | None = None
    timeline: Timeline | None = None
    basis: Basis | None = field(default=None, repr=False)
    """What it was made from; None in a report of an older feedline."""
    schema: int = field(default=SCHEMA)

    @property
    def only_observed(self) -> bool:
        """Does all of it come from a capture, without any experiment?"""
        return self.proof is not None and self.proof.same == "observed"

    def show(self, file: TextIO | None = None, *, color: bool | None = None) -> None:
        """Print the verdict to `file`, standard output unless told."""
        from feedline.report import terminal

        terminal.show(self, file, color=color)

    def to_json(self) -> str:
        """The report as JSON, schema 1."""
        from feedline.report import json

        return json.to_json(self)

    def to_html(
        self, path: str | os.PathLike[str] | None = None, *, force: bool = False
    ) -> str:
        """The report as one HTML page that opens offline, saved to `path` if given.

        An earlier page of feedline's is replaced, any other file only with `force`.
        """
        from feedline.report import html

        return html.render(self) if path is None else html.save(self, path, force=force)
