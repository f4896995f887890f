"""`Measurement`: everything that was measured of one job, as plain data.

Times are milliseconds per training step unless a name says otherwise. A value
that was not measured is None, never a guess, and `unknown` says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from feedline.job.job import Validates
from feedline.job.tfdata.pipeline import Where
from feedline.measure.profile.capture import Capture
from feedline.measure.stage_cost import StageCost as StageCost  # noqa: PLC0414

WAITED_S = 0.01


@dataclass(frozen=True)
class Estimate:
    """A median with its 95 % interval over paired rounds."""

    value: float
    low: float
    high: float
    rounds: int = 1

    @property
    def interval(self) -> tuple[float, float]:
        return (self.low, self.high)

    def times(self, factor: float) -> Estimate:
        """The same in another unit."""
        return Estimate(
            factor * self.value, factor * self.low, factor * self.high, self.rounds
        )

    @property
    def differs(self) -> bool:
        """For a difference: is zero outside the interval?"""
        return self.low > 0.0 or self.high < 0.0


@dataclass(frozen=True)
class Machine:
    """What the job may use: a cgroup's limits count, not the machine's."""

    cores: int
    memory_gb: float
    free_memory_gb: float
    devices: tuple[str, ...] = ("CPU:0",)
    accelerators_present: tuple[str, ...] = ()
    tensor_cores: bool = False
    free_disk_gb: float = 0.0

    @property
    def accelerated(self) -> bool:
        """Does TensorFlow train on something other than the host's CPU?"""
        return any(not device.startswith("CPU") for device in self.devices)


@dataclass(frozen=True)
class StepTimes:
    """One training step, taken apart by experiment.

    observed    as the job runs it (Python around the step included)
    host_fed    the same step fed from ready batches in host memory
    ceiling     the same, the batches already on the device
    overhead    what a step costs however little it computes; None: not known
    host_work   Python between the steps: callbacks, logging, reading values
    tracing     tracing functions again and again; part of observed and ceiling
    epoch_start what starting an epoch costs (shuffle fill), shared out over the
                steps of an epoch; it is part of observed
    epoch_start_s  the same, in seconds per epoch
    cpu         CPU time of one step at the ceiling, over all cores
    curve       (batch size, ms) at the ceiling, the job's own size among them
    """

    observed: Estimate
    host_fed: Estimate
    ceiling: Estimate
    batch_size: int | None = None
    steps: int = 0
    overhead: float | None = None
    input_alone: Estimate | None = None
    host_work: float = 0.0
    tracing: float = 0.0
    epoch_start: float = 0.0
    epoch_start_s: float | None = None
    cpu: float | None = None
    curve: tuple[tuple[int, float], ...] = ()

    def started(self, seconds: float, steps_per_epoch: int) -> StepTimes:
        """The same step in epochs of so many steps that take so long to start."""
        share = 1e3 * seconds / max(1, steps_per_epoch)
        observed = self.observed
        shifted = replace(
            observed,
            value=observed.value + share,
            low=observed.low + share,
            high=observed.high + share,
        )
        return replace(self, observed=shifted, epoch_start=share, epoch_start_s=seconds)

    @property
    def input_wait(self) -> float:
        return max(0.0, self.observed.value - self.host_fed.value)

    def shares(self) -> dict[str, float]:
        """Input, transfer, overhead, compute: never negative, summing to 1."""
        total = max(self.observed.value, 1e-9)
        host_fed = min(self.host_fed.value, total)
        ceiling = min(self.ceiling.value, host_fed)
        overhead = max(0.0, min(self.overhead or 0.0, ceiling))
        shares = {
            "input": (total - host_fed) / total,
            "transfer": (host_fed - ceiling) / total,
            "overhead": overhead / total,
        }
        shares["compute"] = max(0.0, 1.0 - sum(shares.values()))
        return shares

    @property
    def bound(self) -> str:
        shares = self.shares()
        return max(shares, key=lambda name: shares[name])


@dataclass(frozen=True)
class TableCost:
    """The optimizer's update of one table whose gradient names few rows."""

    name: str
    rows: int
    dim: int
    touched: int
    optimizer: str
    update: float
    update_touched_only: float
    where: Where | None = None


@dataclass(frozen=True)
class SoftmaxCost:
    """The output layer over all classes against a sample of them."""

    layer: str
    classes: int
    full: float
    sampled: float


@dataclass(frozen=True)
class MatmulCost:
    """A layer's matrix product on the device: as it is, padded to multiples of
    8, and in half precision. Times per step, forward and backward."""

    layer: str
    shape: tuple[int, int, int]
    as_is: float
    padded: float | None = None
    half: float | None = None


@dataclass(frozen=True)
class FileCost:
    """Reading the job's files: how many, how large, how fast.

    open_ms is the time to open one file and get its first byte; mb_per_s the
    rate at which a file streams after that, infinity for files too small to tell.
    """

    files: int
    mean_bytes: float
    open_ms: float
    mb_per_s: float
    files_per_step: float


@dataclass(frozen=True)
class Line:
    where: Where
    seconds: float


@dataclass(frozen=True)
class RunTimes:
    """The whole run, in seconds; train_s is None where the script's own number
    of steps is not known."""

    import_s: float = 0.0
    prepare_s: float = 0.0
    trace_s: float = 0.0
    train_s: float | None = None
    epoch_s: float | None = None
    slowest_lines: tuple[Line, ...] = ()


@dataclass(frozen=True)
class ValidationTimes:
    """What the validation of a fit costs, in seconds, as it is without fixes.

    seconds   one pass over its data
    input_s   what of a pass is waiting for batches; None: not known
    passes    how many the fit makes; None: not known
    every     from one to the next there are so many epochs
    steps     batches in a pass; None: not known
    epoch_s   the training of one epoch beside it; None: not known
    watched   it was seen while the job went on; else by experiment
    where     the line that made the data
    """

    seconds: float
    input_s: float | None = None
    passes: int | None = None
    every: float = 1.0
    steps: int | None = None
    epoch_s: float | None = None
    data: Validates = "dataset"
    watched: bool = False
    where: Where | None = None

    @property
    def compute_s(self) -> float | None:
        return None if self.input_s is None else max(0.0, self.seconds - self.input_s)

    @property
    def per_epoch_s(self) -> float:
        """Shared out over the epochs, whether or not they are validated."""
        return self.seconds / max(self.every, 1.0)


WhatIf = Literal[
    "input:as-is",
    "input:unordered",
    "input:vectorized",
    "step:as-is",
    "step:compiled",
    "step:steps-per-execution",
    "step:no-strategy",
    "step:open-shapes",
]
"""Every experiment on a changed copy that `whatif.py` makes."""


@dataclass(frozen=True)
class Measurement:
    """`what_if` maps an experiment on a changed copy of the job to the ms per
    step (`step:` names) or per batch of the input alone (`input:` names).
    `ends` are the seconds that each pass took to end which was ended meanwhile: where
    it is more than `WAITED_S`, AUTOTUNE's thread was waited for.
    `capture` is what a profiler saw of some steps; `only_observed`: all the rest
    comes from it too, and no experiment was made. `first_epoch`: a cache of the
    pipeline was not full yet. `validation`: of a fit that has one, if it is known.
    `guessed`: where stages are left out because they contradict what was observed,
    what all may cost; good for choosing what to try, and told to nobody."""

    machine: Machine
    step: StepTimes
    run: RunTimes = field(default_factory=RunTimes)
    validation: ValidationTimes | None = None
    stages: tuple[StageCost, ...] = ()
    guessed: tuple[StageCost, ...] = ()
    tables: tuple[TableCost, ...] = ()
    softmax: SoftmaxCost | None = None
    matmuls: tuple[MatmulCost, ...] = ()
    files: FileCost | None = None
    what_if: Mapping[WhatIf, Estimate] = field(default_factory=dict)
    trace_ms: float = 0.0
    capture: Capture | None = None
    only_observed: bool = False
    first_epoch: bool = False
    ends: tuple[float, ...] = ()
    unknown: tuple[str, ...] = ()
    seconds: float = 0.0
