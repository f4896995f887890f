"""A job, its measurement and its findings, flattened into a Report.

Pure: no clock, no file, no TensorFlow. Numbers are rounded here, once, so that
the report on the screen and the one on disk agree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from feedline.causes.finding import Finding
from feedline.fixes.plan import Trial
from feedline.job.job import Job
from feedline.job.pipeline import Stage, Where
from feedline.measure.measurement import (
    Estimate,
    Machine,
    Measurement,
    RunTimes,
    StageCost,
    StepTimes,
)
from feedline.prove.proof import Cured
from feedline.report.report import (
    SHARES,
    AfterRow,
    FindingRow,
    FixRow,
    LineRow,
    MachineRow,
    ProofRow,
    Report,
    RunRow,
    StageRow,
    StepRow,
)
from feedline.report.verdict import sentence


def make(
    job: Job,
    measurement: Measurement,
    findings: Sequence[Finding],
    titles: Mapping[str, str],
    *,
    script: str,
    version: str,
    seconds: float,
    cured: Cured | None = None,
    cures: Mapping[str, str] | None = None,
) -> Report:
    """The report of one verdict. `titles` gives each cause's title by name,
    `cures` each fix's."""
    ranked = sorted(findings, key=_worth, reverse=True)  # stable: a tie stays
    rows = tuple(_finding(finding, titles) for finding in ranked)
    shares = tidy_shares(measurement.step.shares())
    bound = measurement.step.bound
    step = _step(measurement.step)
    run = _run(measurement.run, measurement.step, job)
    stages = list(job.pipeline.stages()) if job.pipeline is not None else []
    label = ""
    if ranked and bound == "input":
        label = _label(ranked[0].where, measurement.stages, stages)
    return Report(
        version=version,
        machine=_machine(measurement.machine),
        step=step,
        shares=shares,
        bound=bound,
        run=run,
        verdict=sentence(
            bound=bound,
            shares=shares,
            step=step,
            run=run,
            findings=rows,
            label=label,
        ),
        stages=tuple(_stage(cost, stages) for cost in measurement.stages),
        findings=rows,
        fixes=_fixes(cured, cures or {}) if cured else (),
        after=_after(cured),
        proof=_proof(cured),
        seconds=tidy(seconds),
        script=script,
        loop=job.kind if job.where is None else f"{job.kind} at {job.where}",
        unknown=measurement.unknown,
        notes=job.notes,
    )


def tidy(value: float) -> float:
    """Four digits that matter, whole numbers never touched: 84.23, 0.01235."""
    if value == 0 or not math.isfinite(value):
        return value
    return round(value, max(0, 3 - math.floor(math.log10(abs(value)))))


def tidy_shares(shares: Mapping[str, float]) -> dict[str, float]:
    """Rounded, and still never negative and summing to 1: the largest takes
    what rounding left over."""
    raw = {name: shares.get(name, 0.0) for name in SHARES}
    kept = {n: v if math.isfinite(v) and v > 0 else 0.0 for n, v in raw.items()}
    total = sum(kept.values())
    if total == 0:
        return {name: 1.0 if name == "compute" else 0.0 for name in SHARES}
    rounded = {name: round(value / total, 4) for name, value in kept.items()}
    largest = max(kept, key=lambda name: kept[name])
    others = sum(value for name, value in rounded.items() if name != largest)
    rounded[largest] = round(1.0 - others, 4)
    return rounded


def _worth(finding: Finding) -> float:
    return round(finding.cost_ms, 6) if math.isfinite(finding.cost_ms) else 0.0


def _finding(finding: Finding, titles: Mapping[str, str]) -> FindingRow:
    return FindingRow(
        cause=finding.cause,
        where=_where(finding.where),
        cost_ms=tidy(_worth(finding)),
        evidence=finding.evidence,
        fixes=finding.fixes,
        title=titles.get(finding.cause, ""),
        code=_code(finding.where),
    )


def _fixes(cured: Cured, titles: Mapping[str, str]) -> tuple[FixRow, ...]:
    """What was tried, what is applied first, then by what it is worth."""
    trials = sorted(cured.plan.trials, key=_value_of, reverse=True)
    return tuple(_fix(trial, titles) for trial in trials)


def _value_of(trial: Trial) -> tuple[bool, float]:
    gain = trial.outcome.gain
    return (trial.applied, gain.value if gain is not None else 0.0)


def _fix(trial: Trial, titles: Mapping[str, str]) -> FixRow:
    gain, where = trial.outcome.gain, trial.proposal.where
    return FixRow(
        fix=trial.proposal.edit.fix,
        grade=trial.outcome.grade,
        predicted_gain=tidy(trial.predicted),
        measured_gain=None if gain is None else tidy(gain.value),
        interval=None if gain is None else _interval(gain),
        applied=trial.applied,
        where=_where(where),
        code=_code(where),
        title=titles.get(trial.proposal.edit.fix, ""),
        reason=trial.outcome.reason,
    )


def _after(cured: Cured | None) -> AfterRow | None:
    if cured is None or cured.after is None:
        return None
    return AfterRow(
        observed_ms=tidy(cured.after.after.value),
        speedup=tidy(cured.after.gain.value),
        interval=_interval(cured.after.gain),
        before_ms=tidy(cured.after.before.value),
    )


def _proof(cured: Cured | None) -> ProofRow | None:
    """Never more than was compared."""
    if cured is None or cured.after is None:
        return None
    same, steps = cured.same, cured.steps
    elements = same.elements if same is not None else 0
    epochs = same.epochs if same is not None else 0
    parts = []
    if same is not None and elements:
        what = "bit for bit" if same.values else "in structure, dtype and shape"
        parts.append(f"{elements} batches compared {what}, {epochs} whole epochs")
    if steps:
        parts.append(f"the weights compared after {steps} steps from the same start")
    return ProofRow(
        same=cured.plan.grade,
        elements_compared=elements,
        epochs_compared=epochs,
        steps_compared=steps,
        text="; ".join(parts),
    )


def _machine(machine: Machine) -> MachineRow:
    return MachineRow(machine.cores, tidy(machine.memory_gb), machine.devices)


def _step(step: StepTimes) -> StepRow:
    alone = step.input_alone
    return StepRow(
        observed_ms=tidy(step.observed.value),
        ceiling_ms=tidy(step.ceiling.value),
        input_alone_ms=None if alone is None else tidy(alone.value),
        batch_size=step.batch_size,
        steps=step.steps,
        interval_ms=_interval(step.observed),
        host_fed_ms=tidy(step.host_fed.value),
        ceiling_interval_ms=_interval(step.ceiling),
    )


def _interval(estimate: Estimate) -> tuple[float, float]:
    return (tidy(estimate.low), tidy(estimate.high))


def _run(run: RunTimes, step: StepTimes, job: Job) -> RunRow:
    start = None
    if job.steps_per_epoch is not None:
        start = tidy(step.epoch_start * job.steps_per_epoch / 1000)
    return RunRow(
        import_s=tidy(run.import_s),
        prepare_s=tidy(run.prepare_s),
        trace_s=tidy(run.trace_s),
        train_s=None if run.train_s is None else tidy(run.train_s),
        slowest_lines=tuple(
            LineRow(str(line.where), tidy(line.seconds), _code(line.where))
            for line in run.slowest_lines
        ),
        epoch_s=None if run.epoch_s is None else tidy(run.epoch_s),
        epoch_start_s=start,
    )


def _stage(cost: StageCost, stages: Sequence[Stage]) -> StageRow:
    return StageRow(
        name=cost.name,
        where=_where(cost.where),
        ms_per_element=tidy(cost.ms_per_element),
        share=round(cost.share, 4),
        bytes_per_element=tidy(cost.bytes_per_element),
        ms_per_step=tidy(cost.ms_per_batch),
        parallelism=cost.parallelism,
        code=_code(cost.where),
        label=_name(cost, stages),
    )


def _label(
    where: Where | None, costs: Sequence[StageCost], stages: Sequence[Stage]
) -> str:
    """The dearest stage made on that line: several may stand on one."""
    there = [cost for cost in costs if where is not None and cost.where == where]
    if not there:
        return ""
    return _name(max(there, key=lambda cost: cost.ms_per_batch), stages)


def _name(cost: StageCost, stages: Sequence[Stage]) -> str:
    if cost.injected or not 0 <= cost.index < len(stages):
        return cost.name
    return stages[cost.index].label()


def _where(where: Where | None) -> str | None:
    return None if where is None else str(where)


def _code(where: Where | None) -> str:
    return "" if where is None else where.code.strip()
