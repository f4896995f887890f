"""`Report`: one verdict as one value, which can be saved and shown again.

Holds only plain data, so a report read back from JSON shows the same as the
one that was measured. The JSON field names are the public contract, schema 1:
fields may be added, never renamed. A float that was not measured is None where
the type says so, else NaN; both are `null` in JSON.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TextIO

from msgspec import Meta

from feedline.report.basis import Basis

SCHEMA: Final = 1

SHARES = ("input", "transfer", "overhead", "compute")
"""What a step is made of, in the order a batch meets them. `Report.shares` has
these keys and `Report.bound` is one of them."""

_FEWEST_WAITS = 3
_WORTH_A_WORD_S = 0.05

if TYPE_CHECKING:
    Number = float
    Amount = float
else:

    class Number(float):
        """A measured number, NaN where it was not measured. Read back from JSON it is
        of this class, by which msgspec knows that null may stand there."""

    class Amount(Number):
        """One that is not negative."""


def _said(**schema: Any) -> Meta:
    """For the JSON Schema only (schema.py)."""
    return Meta(extra_json_schema=schema)


Interval = tuple[Number, Number]
Count = Annotated[int, _said(minimum=0)]
Bound = Annotated[str, _said(enum=SHARES)]
Shares = Annotated[
    dict[str, Annotated[float, _said(minimum=0, maximum=1)]],
    _said(
        required=SHARES,
        propertyNames={"enum": SHARES},
    ),
]


@dataclass(frozen=True)
class MachineRow:
    cores: int
    memory_gb: Amount
    devices: tuple[str, ...]


@dataclass(frozen=True)
class StepRow:
    """`cpu_ms` is the CPU time of the step at its ceiling, over all cores."""

    observed_ms: Amount
    ceiling_ms: Amount
    input_alone_ms: Amount | None
    batch_size: Count | None
    steps: Count
    interval_ms: Interval
    host_fed_ms: Amount | None = None
    ceiling_interval_ms: Interval | None = None
    overhead_ms: Amount | None = None
    cpu_ms: Amount | None = None


@dataclass(frozen=True)
class LineRow:
    where: str
    seconds: Amount
    code: str = ""


@dataclass(frozen=True)
class RunRow:
    """`passes_waited` of the `passes_ended` while measuring waited for AUTOTUNE's
    thread at their end, `pass_end_wait_s` each on the average."""

    import_s: Amount
    prepare_s: Amount
    trace_s: Amount
    train_s: Amount | None
    slowest_lines: tuple[LineRow, ...] = ()
    epoch_s: Amount | None = None
    epoch_start_s: Amount | None = None
    epochs: Count | None = None
    steps_per_epoch: Count | None = None
    passes_ended: Count | None = None
    passes_waited: Count | None = None
    pass_end_wait_s: Amount | None = None

    @property
    def ends_wait(self) -> bool:
        """Is it worth a word, and more than chance?"""
        least = max(_FEWEST_WAITS, (self.passes_ended or 0) / 10)
        long = (self.pass_end_wait_s or 0.0) >= _WORTH_A_WORD_S
        return long and (self.passes_waited or 0) >= least


@dataclass(frozen=True)
class StageRow:
    """`busy` is the part of its time in which it keeps a core busy. `ahead`: it
    works in its own threads; `tuned`: TensorFlow chooses how many; `python`: the
    interpreter runs one of them at a time; `added`: TensorFlow added it. `inputs`
    are the places of the rows that feed it, None if that is not known.
    `first_ms_per_step` is its cost in the first epoch, where a cache saves it
    later."""

    name: str
    where: str | None
    ms_per_element: Amount
    share: Amount
    bytes_per_element: Amount
    ms_per_step: Amount = 0.0
    parallelism: int = 1
    code: str = ""
    label: str = ""
    busy: Amount = 1.0
    ahead: bool = False
    tuned: bool = False
    python: bool = False
    added: bool = False
    inputs: tuple[Count, ...] | None = None
    first_ms_per_step: Amount | None = None


@dataclass(frozen=True)
class FindingRow:
    cause: str
    where: str | None
    cost_ms: Amount
    evidence: str
    fixes: tuple[str, ...]
    title: str = ""
    code: str = ""


@dataclass(frozen=True)
class FixRow:
    fix: str
    grade: str
    predicted_gain: Amount | None
    measured_gain: Amount | None
    interval: Interval | None
    applied: bool
    where: str | None = None
    code: str = ""
    title: str = ""
    reason: str = ""


@dataclass(frozen=True)
class AfterRow:
    """`steps` and `seconds` are of the training that went on with the fixes, if it
    did; `saved_s` is how much longer it would have taken without them. `ceiling_ms` and
    `stages` are what the plan expects of the step alone and of the pipeline, and
    `shares` splits the measured step by them."""

    observed_ms: Amount
    speedup: Amount
    interval: Interval
    before_ms: Amount | None = None
    steps: Count | None = None
    seconds: Amount | None = None
    saved_s: float | None = None
    measuring_s: Amount | None = None
    ceiling_ms: Amount | None = None
    shares: Shares | None = None
    stages: tuple[StageRow, ...] = ()


@dataclass(frozen=True)
class ProofRow:
    same: str
    elements_compared: Count
    epochs_compared: Count
    steps_compared: Count = 0
    text: str = ""


@dataclass(frozen=True)
class SpanRow:
    """`kind` is one of `feedline.measure.profile.kinds.KINDS`; `label` says what ran:
    a kernel, an op, a stage of the pipeline."""

    start_ms: Amount
    end_ms: Amount
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
    steps: tuple[Interval, ...] = ()


@dataclass(frozen=True)
class PartRow:
    """A part of the captured steps: its kind, its share of the time, milliseconds
    per step, and under which of the report's four shares it is counted."""

    kind: str
    share: Amount
    ms: Amount
    counts_as: str


@dataclass(frozen=True)
class TraceRow:
    """What a profiler capture says. The parts' shares add up to 1; `unknown` is
    the share of those that nothing in the capture explains."""

    source: str
    parts: tuple[PartRow, ...]
    unknown: Amount
    busy: Amount
    devices: tuple[str, ...]
    steps: Count
    boundaries: str = ""


@dataclass(frozen=True)
class ValidationRow:
    """What the validation of a fit costs: `seconds` is one pass without fixes,
    `input_s` the part of it that waits for batches, `epoch_s` the training of one
    epoch, `every` the epochs from one pass to the next. `watched`: seen while the job
    went on, not by experiment. `after_s` is the average pass with `fixes`, `saved_s`
    how much longer the passes would have taken without."""

    seconds: Amount
    input_s: Amount | None = None
    compute_s: Amount | None = None
    epoch_s: Amount | None = None
    passes: Count | None = None
    steps: Count | None = None
    every: Amount = 1.0
    data: str = "dataset"
    where: str | None = None
    watched: bool = False
    fixes: tuple[FixRow, ...] = ()
    speedup: Amount | None = None
    interval: Interval | None = None
    after_passes: Count | None = None
    after_s: Amount | None = None
    saved_s: float | None = None

    @property
    def fixed(self) -> tuple[str, ...]:
        """The fixes that its data is read with."""
        return tuple(each.fix for each in self.fixes if each.applied)


@dataclass(frozen=True)
class Report:
    version: str
    machine: MachineRow
    step: StepRow
    shares: Shares
    bound: Bound
    run: RunRow
    verdict: str
    stages: tuple[StageRow, ...] = ()
    findings: tuple[FindingRow, ...] = ()
    fixes: tuple[FixRow, ...] = ()
    after: AfterRow | None = None
    proof: ProofRow | None = None
    validation: ValidationRow | None = None
    seconds: Amount = 0.0
    script: str = ""
    loop: str = ""
    unknown: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    trace: TraceRow | None = None
    timeline: Timeline | None = None
    basis: Basis | None = field(default=None, repr=False)
    """What it was made from; None in a report of an older feedline."""
    schema: Literal[1] = SCHEMA

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
