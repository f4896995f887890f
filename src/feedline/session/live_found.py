"""What a live trial of a step comes to, as job, measurement and proof.

Everything here was seen on the training's own steps: how long they take, how long they
wait for their batch, and what is left of them as a graph.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import Any

from feedline import fixes
from feedline.fixes.fix import Case, Proposal
from feedline.fixes.plan import Outcome, Plan, Trial, gain
from feedline.job.job import Job
from feedline.job.tfdata.pipeline import Pipeline
from feedline.measure.experiment import estimate
from feedline.measure.measurement import Estimate, Measurement, StepTimes
from feedline.prove.proof import Cured
from feedline.session.live_trial import LiveTrial

_NOT_SEEN = "what a step costs with ready batches: it was not fed any"


def found_by(
    trial: LiveTrial, watch: Any, pipeline: Pipeline | None
) -> tuple[Job, Measurement, Cured] | None:
    """None where nothing was timed."""
    from feedline.job.loops.facts import job_of

    if trial.faster is None or not all(trial.inside.values()):
        return None
    job = job_of(trial.loop, watch, batch_size=trial.batch_size)
    job = replace(job, pipeline=pipeline, eager=True)
    measured = _measured(trial)
    return job, measured, _cured(trial, job, measured)


def _measured(trial: LiveTrial) -> Measurement:
    from feedline.measure.machine import look

    assert trial.faster is not None
    eager, graph = (
        estimate([1e3 * each for each in trial.inside[kind]]) for kind in (False, True)
    )
    waited = 1e3 * median(trial.loop.waits) if trial.loop.waits else 0.0
    observed = trial.faster.before
    if observed.value < eager.value + waited:  # timed without the wait
        observed = _shifted(eager, waited)
    fed = max(0.0, observed.value - waited)
    return Measurement(
        machine=look(),
        step=StepTimes(
            observed=observed,
            host_fed=_exactly(fed),
            ceiling=_exactly(fed),
            batch_size=trial.batch_size,
            steps=trial.timed,
            # What Python adds to the very same operations.
            overhead=min(fed, max(0.0, eager.value - graph.value)),
            host_work=max(0.0, fed - eager.value),
        ),
        what_if={"step:as-is": eager, "step:compiled": graph},
        unknown=(_NOT_SEEN,),
        seconds=trial.cost_s,
    )


def _shifted(found: Estimate, by: float) -> Estimate:
    return Estimate(found.value + by, found.low + by, found.high + by, found.rounds)


def _exactly(value: float) -> Estimate:
    return Estimate(value, value, value)


def _cured(trial: LiveTrial, job: Job, measured: Measurement) -> Cured:
    """What was tried is one fix; it is applied, or the reason stands beside it."""
    if job.pipeline is None:
        return Cured(Plan())
    case = Case(job, measured, job.pipeline.numbered(), ())
    proposal = _proposal(case)
    if proposal is None or trial.faster is None:
        return Cured(Plan())
    expected = gain(case, measured.step.ceiling.value, proposal)
    outcome = Outcome(trial.on, trial.grade, trial.faster.gain, trial.why_not)
    tried = Trial(proposal, expected, outcome)
    if not trial.on:
        return Cured(Plan((), (tried,)))
    plan = Plan((proposal.edit,), (tried,))
    return Cured(plan, trial.faster, None, len(trial.compared))


def _proposal(case: Case) -> Proposal | None:
    """The fix that makes a graph of the step."""
    for each in fixes.proposals(case, ("exact",)):
        asked = fixes.own_loop((each.edit,))
        if asked.as_graph and not asked.fused:
            return each
    return None
