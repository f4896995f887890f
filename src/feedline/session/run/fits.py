"""A `Model.fit` under `feedline run`, just before its first step: the edits that are
known for it are put in, or it is measured and cured on a copy. Where nothing may be
tried, what needs no trial is used at once.

What was put in stays under watch between its epochs.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from feedline import fixes
from feedline.errors import CannotPutBack, FeedlineError
from feedline.fixes.fix import CannotFix, Edit
from feedline.fixes.identity.step import step_of
from feedline.job import marks
from feedline.job.tfdata.ops import Fact
from feedline.job.tfdata.pipeline import Pipeline
from feedline.prove.bound import bound
from feedline.session.plans.plan import plan_for, refusal
from feedline.session.worth import TooShort

if TYPE_CHECKING:
    from feedline.fixes.saved import SavedPlan
    from feedline.job.job import Job
    from feedline.measure.measurement import Measurement
    from feedline.session.plans.memory import Remembered
    from feedline.session.run.runner import Runner

log = logging.getLogger(__name__)


class Fits:
    """All fits of a run."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self._made: list[SavedPlan] = []
        self._used_at_once: set[int] = set()
        self._began: dict[int, float] = {}

    def begins(self, loop: Any, epochs: Any) -> None:
        import tensorflow as tf

        runner, source = self.runner, loop.source
        if not isinstance(source, tf.data.Dataset) or not runner.is_wanted():
            return
        if getattr(source, marks.TUNED, False):
            return
        with runner.watch.pause():
            pipeline = runner.pipeline_of(source)
            if pipeline is None:
                return
            edits = self._edits_for(loop, pipeline)
            if not edits and runner.applied.instead_of(source) is not None:
                # Read with edits before, or made from what was: the shuffles of the
                # script's own dataset stand where they stood then, those of the tuned
                # one went on.
                runner.applied.swap(loop, epochs)
                return
            if edits is None:
                runner.why_not = why_not_here(loop, pipeline)
                if runner.why_not:
                    runner.bound_at_start(loop, pipeline)
                    self._at_once(loop, epochs, pipeline)
                    return  # `on_warm` will see to it
                edits = self._tune(loop, pipeline)
            step_ms = runner.plans.step_ms(str(loop.where))
            runner.applied.to_fit(loop, epochs, edits, step_ms)

    def trains(self, loop: Any) -> None:
        """All that had to be found out before its first step is found out."""
        self._began[id(loop)] = time.perf_counter()

    def over(self, loop: Any) -> None:
        began = self._began.pop(id(loop), None)
        if began is not None:
            self.runner.time.trained(str(loop.where), time.perf_counter() - began)

    def epoch_begins(self, loop: Any) -> None:
        """What was proved stays under watch."""
        runner = self.runner
        with runner.watch.pause():
            if runner.applied.take_off_if_slower(loop, runner.watch.fits):
                runner.plans.taken_out()

    def is_settled(self, loop: Any) -> bool:
        """Was it said already why it is not measured?"""
        too_short = self.runner.time.is_too_short(str(loop.where))
        return too_short or id(loop) in self._used_at_once

    # --------------------------------------------------------------- what is known

    def _edits_for(self, loop: Any, pipeline: Pipeline) -> tuple[Edit, ...] | None:
        """The edits that are known for this job; None where it is to be measured."""
        where, now = str(loop.where), bound(pipeline, step_of(loop))
        for plan in self._made:
            if plan.where == where and refusal(plan, now) is None:
                return plan.edits
        return self.runner.plans.edits_for(
            where, now, lambda known: self._worth(loop, known)
        )

    def _worth(self, loop: Any, known: Remembered) -> float:
        """How long it would be measured now."""
        runner = self.runner
        if loop.epochs is None or loop.steps_per_epoch is None:
            return runner.order.seconds if runner.order.given else 0.0
        training_s = loop.epochs * loop.steps_per_epoch * known.step_ms / 1e3
        return runner.time.worth(str(loop.where), training_s)

    # --------------------------------------------------------------- without a trial

    def _at_once(self, loop: Any, epochs: Any, pipeline: Pipeline) -> None:
        """What needs no trial, in a job that goes through its data more than once."""
        runner = self.runner
        again = loop.epochs is None or loop.epochs > 1 or loop.once
        if not again or loop.strategy is not None:
            return
        found = fixes.at_once(pipeline)
        if not found:
            return
        edits = tuple(each.proposal.edit for each in found)
        try:
            runner.applied.to_fit(loop, epochs, edits)
        except (CannotFix, FeedlineError) as reason:
            log.info("nothing at once: %s", reason)
            return
        runner.in_passing.uses(loop, found, runner.say)
        self._used_at_once.add(id(loop))
        names = ", ".join(edit.fix for edit in edits)
        runner.say(f"applying {names} without a trial: {runner.why_not}")

    # -------------------------------------------------------------------- measuring

    def _tune(self, loop: Any, pipeline: Pipeline) -> tuple[Edit, ...]:
        from feedline.job.loops.snapshot import nbytes, variables_of
        from feedline.job.tfdata.owners import reachable
        from feedline.measure.machine import memory
        from feedline.session.plans.stand_ins import shared
        from feedline.session.tuning import examine_and_cure, stages_in_use

        runner, where = self.runner, str(loop.where)
        if nbytes(variables_of(loop.model)) > memory()[1] / 4:
            raise FeedlineError("a copy of the model's variables would not fit")
        seconds = runner.time.for_fit(loop)
        if not seconds or not runner.time.may_look(where):
            return ()
        short = runner.time.was_too_short(where)
        if short:
            return self._unmeasured(loop, short)
        budget = runner.time.budget(where, seconds)
        steps = (loop.epochs or 0) * (loop.steps_per_epoch or 0)
        if steps and budget.too_few(steps) and _starts_at_once(pipeline):
            runner.time.looked(where, 0.0)
            return self._unmeasured(
                loop, f"training has {steps} steps, too few to repay measuring"
            )
        runner.sampler.stop()
        now = bound(pipeline, step_of(loop))
        began = time.perf_counter()
        try:
            found = examine_and_cure(
                loop.model,
                loop.source,
                runner.allowed,
                budget,
                where=loop.where,
                facts=_facts_of(loop),
                used=stages_in_use(pipeline, list(runner.watch.read_already))
                | shared(pipeline),
                reached=reachable(pipeline),
                lines=runner.watch.tables,
                say=runner.say,
                budgeted=lambda seconds: runner.say_measuring(loop, seconds),
                examined=lambda job, measured: self._examined(loop, job, measured),
                shared=loop.strategy is None and not loop.acts_early,
            )
        except TooShort as reason:
            runner.time.looked(where, time.perf_counter() - began)
            return self._unmeasured(loop, str(reason))
        finally:
            runner.time.spent_s += time.perf_counter() - began
        runner.time.measured(where)
        job = replace(found.job, callbacks=loop.callbacks)
        edits = found.cured.edits
        runner.found = runner.basis(loop, job, found.measured, found.cured)
        plan = plan_for(loop, now, pipeline, found.cured)
        self._made.append(plan)
        spent_s = time.perf_counter() - began
        runner.plans.make(plan, spent_s, found.measured.step.observed.value)
        runner.keep()
        runner.say(
            "applying " + ", ".join(edit.fix for edit in edits)
            if edits
            else "no allowed fix made it faster; your script runs unchanged"
        )
        return edits

    def _unmeasured(self, loop: Any, why: str) -> tuple[Edit, ...]:
        """What it shows by itself still makes a verdict."""
        self.runner.say(f"{loop.place}: {why}; it runs unchanged")
        self.runner.why_not = f"its {why}"
        return ()

    def _examined(self, loop: Any, job: Job, measured: Measurement) -> None:
        """What is known before the cure is tried, should that fail."""
        with suppress(Exception):
            job = replace(job, callbacks=loop.callbacks)
            self.runner.found = self.runner.basis(loop, job, measured)


def why_not_here(loop: Any, pipeline: Pipeline) -> str:
    """Why this fit cannot be measured in the script's own process, before its first
    step; empty where it can."""
    from feedline.job.loops.step_state import check_pipeline, check_python

    if not pipeline.rereadable:
        return "its data cannot be read twice"
    try:
        check_pipeline(pipeline)
        check_python(loop.model)
    except CannotPutBack as reason:
        return str(reason)
    return ""


def _starts_at_once(pipeline: Pipeline) -> bool:
    """Is nothing computed for a first element but that element?"""
    for stage in pipeline.stages():
        if stage.has(Fact.DRAWS_ORDER) or stage.has(Fact.LEAVES_OUT):
            before = [each for each in Pipeline(stage).stages() if each is not stage]
            if any(each.functions or each.has(Fact.FILES) for each in before):
                return False
    return True


def _facts_of(loop: Any) -> Callable[[Any], None]:
    """What the copy of a loop cannot know by itself."""

    def tell(copy: Any) -> None:
        copy.epochs = loop.epochs
        copy.restarts = loop.restarts
        copy.callbacks = loop.callbacks
        copy.steps_per_epoch = loop.steps_per_epoch or copy.steps_per_epoch

    return tell
