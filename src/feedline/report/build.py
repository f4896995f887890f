"""A job, its measurement and its findings, flattened into a Report.

Pure: no clock, no file, no TensorFlow.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from feedline.causes.asking import spared
from feedline.causes.finding import Finding
from feedline.fixes.plan import Trial
from feedline.job.job import Job
from feedline.job.tfdata.pipeline import Where
from feedline.measure.measurement import (
    WAITED_S,
    Machine,
    Measurement,
    RunTimes,
    StepTimes,
)
from feedline.prove.proof import Cured
from feedline.report.after import after, proof
from feedline.report.observed import observed, timeline, trace
from feedline.report.report import (
    FindingRow,
    FixRow,
    LineRow,
    MachineRow,
    Report,
    RunRow,
    StepRow,
    ValidationRow,
)
from feedline.report.rounding import tidy, tidy_interval, tidy_shares
from feedline.report.stages import Stages
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
    validated: Cured | None = None,
) -> Report:
    """The report of one verdict. `titles` gives each cause's title by name,
    `cures` each fix's; `validated` is what was tried for the validation."""
    ranked = sorted(findings, key=_worth, reverse=True)  # stable: a tie stays
    rows = tuple(_finding(finding, titles) for finding in ranked)
    shares = tidy_shares(measurement.step.shares())
    bound, capture = measurement.step.bound, measurement.capture
    step = _step(measurement.step)
    run = _run(measurement.run, measurement.step, job, measurement.ends)
    stages = Stages(job.pipeline, () if measurement.first_epoch else spared(job))
    validation = _validation(job, measurement, validated, cures or {})
    label = ""
    if ranked and bound == "input":
        label = stages.label_of(ranked[0].where, measurement.stages)
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
            validation=validation,
        ),
        stages=stages.rows(measurement.stages),
        findings=rows,
        fixes=_fixes(cured, cures or {}) if cured else (),
        after=after(cured, measurement, stages) if cured else None,
        proof=proof(cured) if cured else observed(measurement),
        validation=validation,
        seconds=tidy(seconds),
        script=script,
        loop=job.kind if job.where is None else f"{job.kind} at {job.where}",
        unknown=measurement.unknown,
        notes=job.notes,
        trace=trace(capture) if capture else None,
        timeline=timeline(capture) if capture else None,
    )


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
        predicted_gain=None if trial.predicted is None else tidy(trial.predicted),
        measured_gain=None if gain is None else tidy(gain.value),
        interval=None if gain is None else tidy_interval(gain),
        applied=trial.applied,
        where=_where(where),
        code=_code(where),
        title=titles.get(trial.proposal.edit.fix, ""),
        reason=trial.outcome.reason,
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
        interval_ms=tidy_interval(step.observed),
        host_fed_ms=tidy(step.host_fed.value),
        ceiling_interval_ms=tidy_interval(step.ceiling),
        overhead_ms=None if step.overhead is None else tidy(step.overhead),
        cpu_ms=None if step.cpu is None else tidy(step.cpu),
    )


def _run(run: RunTimes, step: StepTimes, job: Job, ends: tuple[float, ...]) -> RunRow:
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
        epochs=job.epochs,
        steps_per_epoch=job.steps_per_epoch,
        **_ends(ends if job.restarts and job.epochs != 1 else ()),
    )


def _validation(
    job: Job, measured: Measurement, cured: Cured | None, titles: Mapping[str, str]
) -> ValidationRow | None:
    found, run = measured.validation, measured.run
    if found is None:
        return None
    epoch_s = run.epoch_s
    if epoch_s is None and job.steps_per_epoch:
        epoch_s = job.steps_per_epoch * measured.step.observed.value / 1e3
    epoch_s = found.epoch_s if epoch_s is None else epoch_s
    after = None if cured is None else cured.after
    return ValidationRow(
        seconds=tidy(found.seconds),
        input_s=_tidy(found.input_s),
        compute_s=_tidy(found.compute_s),
        epoch_s=_tidy(epoch_s),
        passes=found.passes,
        steps=found.steps,
        every=tidy(found.every),
        data=found.data,
        where=_where(found.where),
        watched=found.watched,
        fixes=() if cured is None else _fixes(cured, titles),
        speedup=None if after is None else tidy(after.gain.value),
        interval=None if after is None else tidy_interval(after.gain),
    )


def _tidy(value: float | None) -> float | None:
    return None if value is None else tidy(value)


def _ends(ends: tuple[float, ...]) -> dict[str, Any]:
    """How passes over the data ended, where the job makes more than one."""
    if not ends:
        return {}
    waited = [each for each in ends if each > WAITED_S]
    return {
        "passes_ended": len(ends),
        "passes_waited": len(waited),
        "pass_end_wait_s": tidy(sum(waited) / len(waited)) if waited else 0.0,
    }


def _where(where: Where | None) -> str | None:
    return None if where is None else str(where)


def _code(where: Where | None) -> str:
    return "" if where is None else where.code.strip()
