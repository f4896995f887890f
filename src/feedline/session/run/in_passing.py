"""A verdict of a training that nobody may experiment with, by what it shows itself.

Where a source can be read only once, or what a step changes cannot be put back, nothing
is tried: the job trains on, and its own steps are timed. In a fit some of them are fed
in the open (`monitor/probe.py`), which is the only way to see how long a step waits for
its batch; it trains the same batches in the same order. What is not seen is not said.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from feedline.fixes.fix import AtOnce
from feedline.job import marks
from feedline.job.job import Job
from feedline.job.loops.loop import Clock
from feedline.measure.measurement import Estimate, Measurement, StageCost, StepTimes
from feedline.prove.proof import Cured, Faster
from feedline.session.plans.without_trial import WithoutTrial

log = logging.getLogger(__name__)

_FIRST = 2  # calls that trace and allocate
_APART = 3
_MOST = 32
_LEAST_STEPS = 3
_ENOUGH = 1000
_JUDGED = 40  # steps after which an edit must have paid


@dataclass
class Seen:
    """Of one fit, in seconds per step."""

    periods: list[float] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    rests: list[float] = field(default_factory=list)
    """What of the steps whose wait is known was no waiting."""
    batch_size: int | None = None
    stages: tuple[StageCost, ...] = ()
    untold: tuple[str, ...] = ()
    hidden: str = ""
    """Why the wait for the input cannot be seen."""
    live: WithoutTrial = field(default_factory=WithoutTrial)
    helped: list[float] = field(default_factory=list)
    """Steps that an edit which needs no trial has helped; `periods` are the others."""

    @property
    def enough(self) -> bool:
        known = self.helped if self.live.in_force else self.periods
        return len(known) >= _ENOUGH


class InPassing:
    """`why` says of each loop why nothing was tried with it."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.why: dict[int, str] = {}
        self._fits: dict[int, Seen] = {}
        self._jobs: dict[int, Job] = {}
        self._most = 0
        self._say: Callable[[str], None] = lambda _: None

    def uses(self, loop: Any, found: list[AtOnce], say: Callable[[str], None]) -> None:
        """These edits are in force in the fit that is about to begin."""
        self._fits[id(loop)] = Seen(live=WithoutTrial(tuple(found)))
        self._say = say

    def follow(self, loop: Any, why: str) -> None:
        """Just before the first step of a fit: put a clock around its steps."""
        self.why[id(loop)] = why
        train = loop.model.train_function
        seen = self._fits.setdefault(id(loop), Seen())
        if hasattr(train, marks.ORIGINAL) or train is None:
            return
        if loop.model.run_eagerly:
            seen.hidden = "its steps run eagerly"
        step = self._around(loop, seen, train)
        setattr(step, marks.ORIGINAL, train)
        loop.model.train_function = step

    def noted(self, loop: Any, why: str) -> None:
        """Of a fit that is over and was not followed: the steps that the watch saw."""
        self.why.setdefault(id(loop), why)
        seen = Seen(list(loop.periods), hidden="it was not followed")
        self._fits.setdefault(id(loop), seen)

    def over(self, loop: Any, watch: Any) -> None:
        """A fit is over. Only the one with the most steps makes a verdict."""
        if id(loop) in self.why and loop.steps > self._most:
            self._most = loop.steps
            self.write_down(loop, watch)

    def write_down(self, loop: Any, watch: Any) -> None:
        """What is trained, while it is there: the script may drop it."""
        from feedline.job.loops.facts import job_of, write_down

        with suppress(Exception), watch.pause():
            write_down(loop)
            job = job_of(loop, watch, batch_size=None)
            self._jobs[id(loop)] = replace(job, pipeline=loop.read_as)

    def _job(self, loop: Any, seen: Seen, watch: Any) -> Job:
        from feedline.job.loops.facts import job_of

        now = job_of(loop, watch, batch_size=seen.batch_size)
        then = self._jobs.get(id(loop))
        if then is None or loop.source is not None:
            return now
        return replace(
            then,
            batch_size=now.batch_size,
            steps_per_epoch=now.steps_per_epoch or then.steps_per_epoch,
            syncs_per_step=now.syncs_per_step,
        )

    def _around(
        self, loop: Any, seen: Seen, train: Callable[[Any], Any]
    ) -> Callable[[Any], Any]:
        clock, per_call = self.clock, max(1, int(loop.steps_per_call))
        source: Any = None
        calls, began, cost, waited = 0, 0.0, 0.0, -1.0

        def step(iterator: Any) -> Any:
            nonlocal source, calls, began, cost, waited
            if seen.enough:
                return train(iterator)
            now = clock.now()
            helped = self._helped(seen)
            if source is iterator and calls > _FIRST:
                known = seen.helped if helped else seen.periods
                known.append((now - began - cost) / per_call)
                if waited >= 0:
                    seen.rests.append(max(0.0, known[-1] - waited))
            source, began, cost, waited = iterator, now, 0.0, -1.0
            calls += 1
            fed = iterator
            due = calls > _FIRST and calls % _APART == 0 and not helped
            if due and not seen.hidden and len(seen.waits) < _MOST:
                before = len(seen.waits)
                fed, cost = self._fed(loop, seen, iterator, per_call)
                waited = seen.waits[-1] if len(seen.waits) > before else -1.0
            return train(fed)

        return step

    def _helped(self, seen: Seen) -> bool:
        """Did an edit save most of the work since the step before? Where that does not
        make the steps shorter, it is taken out."""
        live = seen.live
        if not live.in_force:
            return False
        helped = live.helped()
        if len(seen.helped) == _JUDGED and live.taken_out(seen.helped, seen.periods):
            self._say(f"removed {live.names}: the steps did not get faster")
        return helped

    def _fed(
        self, loop: Any, seen: Seen, iterator: Any, steps: int
    ) -> tuple[Any, float]:
        """What this call reads from, and what finding that out cost."""
        from feedline.monitor.probe import CannotProbe, take

        try:
            probe = take(iterator, steps, self.clock)
        except CannotProbe as reason:
            seen.hidden = str(reason)
            return (iterator if reason.batches is None else reason.batches), 0.0
        if probe is None:
            return iterator, 0.0
        seen.waits.append(probe.waited / steps)
        if probe.examples is not None:
            seen.batch_size = max(seen.batch_size or 0, probe.examples // steps)
        begin = self.clock.now()
        if len(seen.waits) in (_LEAST_STEPS, _MOST // 2):
            # Early on too: an epoch may be short, and the next has another iterator.
            stages, untold = _stages(loop, iterator)
            if stages:
                seen.stages, seen.untold = stages, untold
        return probe.iterator, probe.cost + self.clock.now() - begin

    # ------------------------------------------------------------------- the verdict

    def measured(self, watch: Any) -> tuple[Any, Job, Measurement, Cured | None] | None:
        """The loop that trained the most steps, and what was seen of it."""
        known = [loop for loop in watch.loops if id(loop) in self.why]
        for loop in sorted(known, key=lambda each: -each.steps):
            seen = self._fits.get(id(loop)) or Seen(
                loop.periods[: len(loop.waits)], list(loop.waits)
            )
            if len(seen.periods) >= _LEAST_STEPS:
                return loop, *self._of(loop, seen, watch), cured_of(seen)
        return None

    def _of(self, loop: Any, seen: Seen, watch: Any) -> tuple[Job, Measurement]:
        from feedline.measure.experiment import estimate
        from feedline.measure.machine import look

        observed = estimate([1e3 * each for each in seen.periods])
        waited = 1e3 * median(seen.waits) if seen.waits else 0.0
        fed = max(0.0, observed.value - waited)
        if seen.rests:
            fed = min(1e3 * median(seen.rests), observed.value)
        unknown = ["what a step costs however little it computes"]
        if not seen.waits:
            reason = seen.hidden or "it ended too soon"
            unknown.insert(0, f"how long a step waits for its input: {reason}")
        job = self._job(loop, seen, watch)
        tried = (
            "No fix was tried"
            if not seen.live.found
            else "No fix was measured by itself"
        )
        notes = [*job.notes, f"{tried}: {self.why[id(loop)]}."]
        if job.eager:
            notes.append(
                "The step runs from Python, operation by operation; what that costs "
                "was not measured."
            )
        return replace(job, notes=tuple(notes)), Measurement(
            machine=look(),
            step=StepTimes(
                observed=observed,
                host_fed=Estimate(fed, fed, fed),
                ceiling=Estimate(fed, fed, fed),
                batch_size=seen.batch_size,
                steps=len(seen.periods),
            ),
            stages=tuple(_within(each, observed.value) for each in seen.stages),
            only_observed=True,
            unknown=(*unknown, *seen.untold),
        )


def cured_of(seen: Seen) -> Cured | None:
    """What the edits in force came to: steps that they helped against the others."""
    live = seen.live
    if not live.found or len(seen.helped) < _LEAST_STEPS:
        return None
    from feedline.measure.experiment import estimate

    before = estimate([1e3 * each for each in seen.periods])
    after = estimate([1e3 * each for each in seen.helped])
    plan, gain = live.came_to(before, after)
    faster = Faster(before, after, gain)
    return Cured(plan, faster if faster.proved and not live.lost else None)


def _within(cost: StageCost, step: float) -> StageCost:
    """No more than its threads have time for in a step: tf.data counts the first
    elements too, which took longer."""
    most = step * max(1, cost.parallelism)
    if cost.ms_per_batch <= most:
        return cost
    part = most / cost.ms_per_batch
    return replace(cost, ms_per_batch=most, ms_per_element=part * cost.ms_per_element)


def _stages(loop: Any, iterator: Any) -> tuple[tuple[StageCost, ...], tuple[str, ...]]:
    """By tf.data's own model of the pipeline, where it has one, and what it does not
    tell."""
    from feedline.job.loops.facts import pipeline_of
    from feedline.measure.nodes import costs, read_model, told_rightly

    try:
        pipeline, node = pipeline_of(loop), read_model(iterator)
        if pipeline is None or node is None:
            return (), ()
        return told_rightly(pipeline, costs(pipeline, node))
    except Exception:
        log.info("the stages' costs could not be seen", exc_info=True)
        return (), ()
