"""What one trace for all shapes comes to, as job, measurement and proof.

A step without it is known by the traces that were made before, and by the steps that
were compared; a step with it by the training's own.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Any

from feedline.fixes.fix import Case
from feedline.fixes.plan import Outcome, Plan
from feedline.job.job import Job, Retrace
from feedline.job.loops.facts import job_of, step_where
from feedline.job.loops.retraces import reason
from feedline.job.script.functions import user_function
from feedline.job.tfdata import ops
from feedline.job.tfdata.pipeline import Pipeline, Stage
from feedline.measure.experiment import estimate
from feedline.measure.machine import look
from feedline.measure.measurement import Estimate, Measurement, StepTimes
from feedline.prove.proof import Cured, Faster
from feedline.session.live.one_fix import NOT_SEEN, cured_by, exactly, proposal_for

if TYPE_CHECKING:
    from feedline.session.live.shape_choice import ShapeChoice


def found_by(live: ShapeChoice, watch: Any) -> tuple[Job, Measurement, Cured]:
    loop = live.loop
    job = job_of(loop, watch, batch_size=None)
    again = Retrace(
        name_of(live), step_where(loop), live.traced_again, reason(live.function)
    )
    notes = job.notes
    if live.found is None and live.why_not:
        notes = (*notes, f"Each shape keeps its own trace: {live.why_not}.")
    job = replace(job, eager=False, retraces=(again,), notes=notes)
    faster = _faster(live)
    measured = _measured(live, faster)
    return job, measured, _cured(live, job, measured, faster)


def name_of(live: ShapeChoice) -> str:
    return getattr(user_function(live.function)[0], "__name__", "the step")


def _faster(live: ShapeChoice) -> Faster | None:
    """A step without and with it, over all steps that it made; before there are any,
    a step with a new shape. None where nothing was compared."""
    account, traces = live.account, live.traced_s
    if live.found is None:
        return None
    if account.steps:
        rest = account.plain - account.shapes * live.trace_s
        before = [(rest + account.shapes * each) / account.steps for each in traces]
        after = account.spent / account.steps
    else:
        before, after = traces, live.found.relaxed_s
    gains = [each / max(after, 1e-9) for each in before]
    ms = [1e3 * each for each in before]
    return Faster(estimate(ms), exactly(1e3 * after), estimate(gains))


def _measured(live: ShapeChoice, faster: Faster | None) -> Measurement:
    loop, calls = live.loop, max(1, live.calls - 1)
    if faster is not None:
        step = faster.before
        own_s = live.found.own_s if live.found is not None else 0.0
        tracing = max(0.0, step.value - 1e3 * own_s)
    else:
        periods = loop.periods or live.traces
        step = exactly(1e3 * sum(periods) / len(periods))
        tracing = min(step.value, 1e3 * sum(live.traces[1:]) / calls)
    waited = 1e3 * median(loop.waits) if loop.waits else 0.0
    observed = Estimate(
        step.value + waited, step.low + waited, step.high + waited, step.rounds
    )
    tried: dict[Any, Estimate] = {}
    if live.found is not None:
        relaxed = 1e3 * live.found.relaxed_s
        tried["step:as-is"] = exactly(relaxed * live.predicted)
        tried["step:open-shapes"] = exactly(relaxed)
    return Measurement(
        machine=look(),
        step=StepTimes(
            observed=observed,
            host_fed=step,
            ceiling=step,
            steps=live.calls,
            tracing=tracing,
        ),
        what_if=tried,
        trace_ms=tracing,
        only_observed=False,
        unknown=(NOT_SEEN,),
        seconds=live.cost_s,
    )


def _cured(
    live: ShapeChoice, job: Job, measured: Measurement, faster: Faster | None
) -> Cured:
    """What was tried is the fix that leaves shapes open."""
    pipeline = job.pipeline or Pipeline(Stage(ops.OPAQUE))
    case = Case(job, measured, pipeline.numbered(), ())
    proposal = proposal_for(case, lambda asked: asked.open_shapes)
    if proposal is None or faster is None or live.found is None:
        return Cured(Plan())
    on = live.phase == "on"
    outcome = Outcome(on, live.grade, faster.gain, live.why_not)
    return cured_by(proposal, live.predicted, outcome, faster, live.found.compared)


def said(live: ShapeChoice) -> str:
    name, found = name_of(live), live.found
    if found is None:
        return f"{name} is traced again for new calls, unchanged: {live.why_not}"
    own, shared = 1e3 * live.trace_s, 1e3 * found.relaxed_s
    shorter = f"{own:.3g} ms with a trace, {shared:.3g} ms with one for all shapes"
    if live.phase == "on":
        same = "bit for bit" if found.equal else "but for rounding"
        return (
            f"{name} is traced once for all shapes from here on: a call with a new "
            f"shape takes {shorter}, the same {same} in {found.compared} steps compared"
        )
    return f"{name} is traced again for every new shape: {shorter}, but {live.why_not}"
