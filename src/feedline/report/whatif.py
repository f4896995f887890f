"""What if there were more cores, a faster device, more epochs? The model and its
arithmetic; the HTML page has the same in JavaScript, and a test compares the two.

The step alone (its batches ready on the device) is overhead + compute / speed, and
its CPU time shrinks with it. A batch's transfer stays. The pipeline is a chain of
segments, as in `measure.predict`: stages take turns until one works ahead in threads
of its own. A step is then no shorter than

- the step alone and its transfer, with the stages that take turns with it,
- each segment, a stage that works ahead divided by its threads,
- all CPU time of stages and step, divided by the cores.

The largest of these is the step. The stages' costs are scaled so that the model gives
the measured step at the measured place (`scale`); what cannot be explained so stays a
factor (`rest`). In the first epoch a stage behind a new cache costs `first_ms`.
Nothing here is measured: at the sliders' first place it repeats the measurement, and
elsewhere it is an expectation.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

from feedline.measure.measurement import StageCost
from feedline.measure.predict import Limit, limits
from feedline.report.report import AfterRow, Report, StageRow
from feedline.report.text import printable

MARGIN = 1.05
"""A device counts as fed when its step is this near to the step alone."""

ALL_CORES = 0

_LEAST_SCALE, _MOST_SCALE = 0.25, 4.0
_NEAR = 1.1
_EQUAL = 0.02


@dataclass(frozen=True)
class Part:
    """A stage: its cost per step, later and in the first epoch, the part of it that
    keeps a core busy, and its threads (`ALL_CORES`: as many as there are)."""

    label: str
    ms: float
    first_ms: float
    busy: float
    threads: int
    ahead: bool
    python: bool = False


@dataclass(frozen=True)
class Scenario:
    name: str
    title: str
    parts: tuple[Part, ...]
    compute_ms: float
    overhead_ms: float
    transfer_ms: float
    cpu_ms: float
    start_ms: float
    scale: float
    rest: float


@dataclass(frozen=True)
class Model:
    """`begin_s` is what comes before the first step. The last scenario spreads the
    input over all cores."""

    cores: int
    epochs: int
    steps_per_epoch: int | None
    begin_s: float
    margin: float
    choices: dict[str, tuple[float, ...]]
    scenarios: tuple[Scenario, ...]

    @property
    def epochs_matter(self) -> bool:
        """Is anything known that depends on their number?"""
        parts = (part for scenario in self.scenarios for part in scenario.parts)
        return self.steps_per_epoch is not None or any(
            part.first_ms != part.ms for part in parts
        )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Expected:
    """A step, later and in the first epoch, the mean of all, the step alone with
    its transfer, what limits a later step, and the whole run."""

    step_ms: float
    first_ms: float
    mean_ms: float
    alone_ms: float
    limit: str
    stages: tuple[int, ...]
    total_s: float | None


@dataclass(frozen=True)
class Need:
    """Cores that keep the device fed, and how many more machines like this one that
    is; None where a stage that cannot be spread is in the way."""

    cores: int | None
    workers: int | None
    blocked_by: int | None = None


def expect(
    model: Model, scenario: Scenario, cores: int, speed: float, epochs: int
) -> Expected:
    alone = scenario.overhead_ms + scenario.compute_ms / speed
    now = scenario.overhead_ms + scenario.compute_ms
    cpu = scenario.cpu_ms * alone / now if now > 0 else 0.0
    fed = alone + scenario.transfer_ms
    later = _slowest(scenario.parts, fed, cpu, cores, first=False)
    first = _slowest(scenario.parts, fed, cpu, cores, first=True)
    step_ms = scenario.rest * later.ms + scenario.start_ms
    first_ms = scenario.rest * first.ms + scenario.start_ms
    mean_ms = (first_ms + (epochs - 1) * step_ms) / epochs
    steps = model.steps_per_epoch
    return Expected(
        step_ms=step_ms,
        first_ms=first_ms,
        mean_ms=mean_ms,
        alone_ms=scenario.rest * fed,
        limit=later.kind,
        stages=later.stages,
        total_s=None
        if steps is None
        else model.begin_s + epochs * steps * mean_ms / 1e3,
    )


def need(model: Model, speed: float) -> Need:
    """What keeps a device of this speed fed, the input spread as well as can be."""
    scenario = model.scenarios[-1]
    alone = scenario.overhead_ms + scenario.compute_ms / speed
    now = scenario.overhead_ms + scenario.compute_ms
    work = scenario.cpu_ms * alone / now if now > 0 else 0.0
    target = MARGIN * (alone + scenario.transfer_ms)
    cores = 1
    for place, part in enumerate(scenario.parts):
        work += part.ms * part.busy
        if part.threads == ALL_CORES:
            cores = max(cores, math.ceil(part.ms / target))
        elif part.ms / part.threads > target:
            return Need(None, None, place)
    cores = max(cores, math.ceil(work / target))
    return Need(cores, max(0, math.ceil((cores - model.cores) / model.cores)))


def _slowest(
    parts: tuple[Part, ...], fed: float, cpu: float, cores: int, *, first: bool
) -> Limit:
    costs = [
        StageCost(
            index=place,
            name=part.label,
            ms_per_batch=part.first_ms if first else part.ms,
            busy=part.busy,
            parallelism=cores if part.threads == ALL_CORES else part.threads,
            asynchronous=part.ahead,
        )
        for place, part in enumerate(parts)
    ]
    bounds = limits(costs, ceiling_ms=fed, step_cpu_ms=cpu, cores=cores)
    return max(bounds, key=lambda bound: bound.ms)  # of equals the first


# ---------------------------------------------------------- a report's model


def model_of(report: Report) -> Model | None:
    """None where the report does not have what it takes."""
    step, run = report.step, report.run
    known = (step.observed_ms, step.ceiling_ms, *(s.ms_per_step for s in report.stages))
    if not report.stages or not all(math.isfinite(ms) for ms in known):
        return None
    if step.ceiling_ms <= 0 or step.observed_ms <= 0:
        return None
    measured = _measured(report)
    scenarios = [measured]
    if report.after is not None and _complete(report.after):
        scenarios.append(_fixed(report, report.after, measured))
    scenarios.append(_spread(scenarios[-1]))
    begin = (run.import_s, run.prepare_s, run.trace_s)
    cores = max(1, report.machine.cores)
    epochs = max(1, run.epochs or 1)
    return Model(
        cores=cores,
        epochs=epochs,
        steps_per_epoch=_steps_per_epoch(report),
        begin_s=sum(second for second in begin if math.isfinite(second)),
        margin=MARGIN,
        choices={
            "cores": _with(cores, (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)),
            "speed": (0.5, 1, 1.5, 2, 3, 5, 10, 20, 50),
            "epochs": _with(epochs, (1, 2, 3, 5, 10, 20, 50, 100, 200, 500)),
        },
        scenarios=tuple(scenarios),
    )


def _steps_per_epoch(report: Report) -> int | None:
    """As the script says, or as it was seen when it ran to its end."""
    run, after = report.run, report.after
    if run.steps_per_epoch is None and run.epochs and after and after.steps:
        return after.steps // run.epochs if after.steps % run.epochs == 0 else None
    return run.steps_per_epoch


def _complete(after: AfterRow) -> bool:
    costs = (stage.ms_per_step for stage in after.stages)
    known = all(math.isfinite(value) for value in (after.observed_ms, *costs))
    return bool(after.stages) and known and after.observed_ms > 0


def _with(own: int, usual: tuple[int, ...]) -> tuple[float, ...]:
    return tuple(sorted({own, *usual}))


def _measured(report: Report) -> Scenario:
    step, run = report.step, report.run
    overhead = min(_or_zero(step.overhead_ms), step.ceiling_ms)
    start = 0.0
    if run.epoch_start_s and run.steps_per_epoch:
        start = 1e3 * run.epoch_start_s / run.steps_per_epoch
    scenario = Scenario(
        name="measured",
        title="As it is",
        parts=tuple(_part(stage) for stage in report.stages),
        compute_ms=step.ceiling_ms - overhead,
        overhead_ms=overhead,
        transfer_ms=max(0.0, _or_zero(step.host_fed_ms) - step.ceiling_ms),
        cpu_ms=_or_zero(step.cpu_ms),
        start_ms=min(start, max(0.0, step.observed_ms - step.ceiling_ms)),
        scale=1.0,
        rest=1.0,
    )
    return _fitted(scenario, step.observed_ms, report.machine.cores)


def _fixed(report: Report, after: AfterRow, measured: Scenario) -> Scenario:
    alone = after.ceiling_ms
    if alone is None or not math.isfinite(alone):
        alone = report.step.ceiling_ms
    shorter = alone / report.step.ceiling_ms
    scenario = replace(
        measured,
        name="fixed",
        title="With the fixes",
        parts=tuple(_scaled(_part(stage), measured.scale) for stage in after.stages),
        compute_ms=measured.compute_ms * shorter,
        overhead_ms=measured.overhead_ms * shorter,
        cpu_ms=measured.cpu_ms * min(1.0, shorter),
        start_ms=min(measured.start_ms, max(0.0, after.observed_ms - alone)),
        rest=1.0,
    )
    return _fitted(scenario, after.observed_ms, report.machine.cores)


def _spread(base: Scenario) -> Scenario:
    """Every stage in as many threads as there are cores; the interpreter runs one."""
    return replace(
        base,
        name="spread",
        title="Spread over all cores",
        parts=tuple(
            replace(part, ahead=True, threads=1 if part.python else ALL_CORES)
            for part in base.parts
        ),
    )


def _part(stage: StageRow) -> Part:
    first = stage.first_ms_per_step
    threads = max(1, stage.parallelism)
    if stage.python:
        threads = 1
    elif stage.tuned:
        threads = ALL_CORES
    return Part(
        label=printable(stage.label or stage.name),
        ms=stage.ms_per_step,
        first_ms=stage.ms_per_step
        if first is None or not math.isfinite(first)
        else first,
        busy=stage.busy if math.isfinite(stage.busy) else 1.0,
        threads=threads,
        ahead=stage.ahead,
        python=stage.python,
    )


def _scaled(part: Part, scale: float) -> Part:
    return replace(part, ms=part.ms * scale, first_ms=part.first_ms * scale)


def _fitted(scenario: Scenario, observed_ms: float, cores: int) -> Scenario:
    """The scenario that gives the observed step on the machine that it was observed
    on. A step cannot be shorter than its ceiling: then that was measured too long.
    Where it is near its ceiling the stages are hidden behind it, and their costs stay
    as measured."""
    target = max(observed_ms - scenario.start_ms, 1e-6)
    alone = scenario.overhead_ms + scenario.compute_ms + scenario.transfer_ms
    if target < alone:
        scenario, alone = _shortened(scenario, target / alone), target

    def gives(scale: float) -> float:
        parts = tuple(_scaled(part, scale) for part in scenario.parts)
        return _slowest(parts, alone, scenario.cpu_ms, max(1, cores), first=False).ms

    scale = 1.0
    hidden = gives(1.0) < target <= _NEAR * alone
    close = abs(gives(1.0) / target - 1) <= _EQUAL
    if not (hidden or close) and gives(_LEAST_SCALE) < target < gives(_MOST_SCALE):
        low, high = _LEAST_SCALE, _MOST_SCALE
        for _ in range(60):
            scale = (low + high) / 2
            low, high = (scale, high) if gives(scale) < target else (low, scale)
    return replace(
        scenario,
        parts=tuple(_scaled(part, scale) for part in scenario.parts),
        scale=scenario.scale * scale,
        rest=target / max(gives(scale), 1e-9),
    )


def _shortened(scenario: Scenario, by: float) -> Scenario:
    return replace(
        scenario,
        compute_ms=scenario.compute_ms * by,
        overhead_ms=scenario.overhead_ms * by,
        transfer_ms=scenario.transfer_ms * by,
        cpu_ms=scenario.cpu_ms * by,
    )


def _or_zero(value: float | None) -> float:
    return value if value is not None and math.isfinite(value) else 0.0
