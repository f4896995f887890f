"""What a live trial of a step comes to, as job, measurement and proof.

Everything here was seen on the training's own steps: how long they take, how long they
wait for their batch, and what is left of them as a graph.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import Any

from feedline.fixes.fix import Case
from feedline.fixes.plan import Outcome, Plan, gain
from feedline.job.job import Job
from feedline.job.tfdata.pipeline import Pipeline
from feedline.measure.experiment import estimate
from feedline.measure.measurement import Estimate, Measurement, StepTimes
from feedline.prove.proof import Cured
from feedline.session.live.one_fix import NOT_SEEN, cured_by, exactly, proposal_for
from feedline.session.live.step_trial import StepTrial


def found_by(
    trial: StepTrial, watch: Any, pipeline: Pipeline | None
) -> tuple[Job, Measurement, Cured] | None:
    """None where nothing was timed."""
    from feedline.job.loops.facts import job_of

    if trial.faster is None or not all(trial.turns.inside.values()):
        return None
    job = job_of(trial.loop, watch, batch_size=trial.batch_size)
    job = replace(job, pipeline=pipeline, eager=True)
    measured = _measured(trial)
    return job, measured, _cured(trial, job, measured)


def _measured(trial: StepTrial) -> Measurement:
    from feedline.measure.machine import look

    assert trial.faster is not None
    eager, graph = (
        estimate([1e3 * each for each in trial.turns.inside[kind]])
        for kind in (False, True)
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
            host_fed=exactly(fed),
            ceiling=exactly(fed),
            batch_size=trial.batch_size,
            steps=trial.turns.timed,
            # What Python adds to the very same operations.
            overhead=min(fed, max(0.0, eager.value - graph.value)),
            host_work=max(0.0, fed - eager.value),
        ),
        what_if={"step:as-is": eager, "step:compiled": graph},
        unknown=(NOT_SEEN,),
        seconds=trial.cost_s,
    )


def _shifted(found: Estimate, by: float) -> Estimate:
    return Estimate(found.value + by, found.low + by, found.high + by, found.rounds)


def _cured(trial: StepTrial, job: Job, measured: Measurement) -> Cured:
    """What was tried is the fix that makes a graph of the step."""
    if job.pipeline is None:
        return Cured(Plan())
    case = Case(job, measured, job.pipeline.numbered(), ())
    proposal = proposal_for(case, lambda asked: asked.as_graph and not asked.fused)
    if proposal is None or trial.faster is None:
        return Cured(Plan())
    expected = gain(case, measured.step.ceiling.value, proposal)
    outcome = Outcome(trial.on, trial.grade, trial.faster.gain, trial.why_not)
    return cured_by(proposal, expected, outcome, trial.faster, len(trial.compared))
