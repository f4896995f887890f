"""What the fixes made of the step, and what was proved of them, as rows.

The step after the fixes is measured; its parts are not. Its shares are split by what
the plan expects of the step alone: the measured ceiling, shorter by what a fix of the
step took off it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from feedline import fixes
from feedline.fixes.plan import Plan
from feedline.measure.measurement import Estimate, Measurement, StageCost, StepTimes
from feedline.prove.proof import Cured
from feedline.report.report import AfterRow, ProofRow
from feedline.report.rounding import tidy, tidy_interval, tidy_shares
from feedline.report.stages import Stages


def after(cured: Cured, measured: Measurement, stages: Stages) -> AfterRow | None:
    if cured.after is None:
        return None
    costs, first, alone = _expected(cured.plan, measured)
    return AfterRow(
        observed_ms=tidy(cured.after.after.value),
        speedup=tidy(cured.after.gain.value),
        interval=tidy_interval(cured.after.gain),
        before_ms=tidy(cured.after.before.value),
        ceiling_ms=tidy(alone),
        shares=tidy_shares(
            _split(measured.step, cured.after.after.value, alone).shares()
        ),
        stages=stages.rows(costs, first),
    )


def _expected(
    plan: Plan, measured: Measurement
) -> tuple[Sequence[StageCost], Sequence[StageCost], float]:
    """The stages after all edits, the same while a cache is filled, and the step
    alone; as `fixes.plan.advanced` follows them."""
    costs: tuple[StageCost, ...] = measured.stages
    first: tuple[StageCost, ...] = ()
    ceiling = alone = measured.step.ceiling.value
    applied = [trial.proposal for trial in plan.trials if trial.applied]
    proposals = {proposal.edit: proposal for proposal in applied}
    for edit in plan.edits:
        if (proposal := proposals.get(edit)) is None:
            continue
        if fixes.keeps(edit):
            first = costs
        if proposal.costs is not None:
            costs = proposal.costs
        if proposal.step_ms is not None:
            alone *= proposal.step_ms / max(ceiling, 1e-9)
    return costs, first, alone


def _split(step: StepTimes, observed: float, alone: float) -> StepTimes:
    """The measured step with the expected ceiling in it."""
    shorter = alone / max(step.ceiling.value, 1e-9)
    transfer = max(0.0, step.host_fed.value - step.ceiling.value)
    return replace(
        step,
        observed=_exactly(observed),
        host_fed=_exactly(alone + transfer),
        ceiling=_exactly(alone),
        overhead=None if step.overhead is None else step.overhead * min(1.0, shorter),
    )


def _exactly(value: float) -> Estimate:
    return Estimate(value, value, value)


def proof(cured: Cured) -> ProofRow | None:
    """Never more than was compared."""
    if cured.after is None:
        return None
    same, steps = cured.same, cured.steps
    elements = same.elements if same is not None else 0
    epochs = same.epochs if same is not None else 0
    parts = []
    if same is not None and elements:
        what = "bit for bit" if same.values else "in structure, dtype and shape"
        whole = f"{epochs} whole epoch{'s' if epochs != 1 else ''}"
        parts.append(f"{elements} batches compared {what}, {whole}")
    if steps:
        parts.append(f"the weights compared after {steps} steps from the same start")
    return ProofRow(
        same=cured.plan.grade,
        elements_compared=elements,
        epochs_compared=epochs,
        steps_compared=steps,
        text="; ".join(parts),
    )
