"""A report's what-if model, fitted to what was measured.

Stage costs are measured on the pipeline alone, and the model is a simple one, so at
the measured place it gives another step than the observed one. The stages' costs are
therefore scaled until it does; what cannot be explained so stays a factor.
"""

from __future__ import annotations

import math
from dataclasses import replace

from feedline.report.report import AfterRow, Report, StageRow
from feedline.report.text import printable
from feedline.report.whatif import ALL_CORES, MARGIN, Model, Part, Scenario, slowest

_LEAST_SCALE, _MOST_SCALE = 0.25, 4.0
_SHORTEST_MS = 1e-6  # a clock's tick; what is shorter was not measured
_NEAR = 1.1
_EQUAL = 0.02


def model_of(report: Report) -> Model | None:
    """None where the report does not have what it takes."""
    step, run = report.step, report.run
    known = (step.observed_ms, step.ceiling_ms, *(s.ms_per_step for s in report.stages))
    if not report.stages or not all(math.isfinite(ms) for ms in known):
        return None
    if min(step.ceiling_ms, step.observed_ms) < _SHORTEST_MS:
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
        return slowest(parts, alone, scenario.cpu_ms, max(1, cores), first=False).ms

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
