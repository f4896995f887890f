"""A loop whose step was cured and then its input: what was found of both, as one."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from feedline.fixes.plan import Plan
from feedline.job.job import Job
from feedline.measure.measurement import Estimate, Measurement
from feedline.prove.proof import Cured, Faster

Found: TypeAlias = tuple[Job, Measurement, Cured]


def joined(first: Found, then: Found) -> Found:
    """The step was cured, then its input: one plan, whose gains multiply."""
    job, measured, step = first
    _, seen, cured = then
    measured = replace(
        measured, stages=seen.stages, unknown=(*measured.unknown, *seen.unknown)
    )
    plan = Plan(
        (*step.plan.edits, *cured.plan.edits), (*step.plan.trials, *cured.plan.trials)
    )
    after = step.after
    if after is not None and cured.after is not None:
        one, two = after.gain, cured.after.gain
        gain = Estimate(
            one.value * two.value,
            one.low * two.low,
            one.high * two.high,
            min(one.rounds, two.rounds),
        )
        left = after.after.times(1 / max(two.value, 1e-9))
        after = Faster(after.before, left, gain)
    return job, measured, Cured(plan, after, cured.same, step.steps)
