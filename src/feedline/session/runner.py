"""The process in which the user's script runs under `feedline run`, to its end.

Two roads, by what the script turns out to be:

- `Model.fit` on data that can be read twice: just before its first step the job is
  measured and cured on a copy, everything is put back, the proved edits are
  applied, and the script goes on.
- A plan is given (by a rehearsal, or from a file): it is applied, nothing is measured.

Nobody can put back all that any other loop changes, nor what data made by the user's
Python does: such a training goes on as it is, with one line that says so. What to do
with it is found out in a rehearsal (`rehearsal/`), before this run.

Whatever fails here costs the fixes, not the script.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from msgspec import structs

from feedline import fixes
from feedline.errors import CannotPutBack, FeedlineError, one_sentence
from feedline.fixes.binding import Binding, only_step, without_step
from feedline.fixes.fix import CannotFix, Edit, grades
from feedline.fixes.identity.part import Part
from feedline.fixes.identity.step import step_of
from feedline.fixes.means.own_step.hoist import Hoist
from feedline.fixes.saved import SavedPlan
from feedline.fixes.step import steps_per_execution
from feedline.job import marks
from feedline.job.job import Job
from feedline.job.tfdata.pipeline import Pipeline, Where
from feedline.measure.measurement import Measurement
from feedline.monitor.live import Live
from feedline.process.channel import Channel
from feedline.process.voice import Voice
from feedline.prove.bound import bound
from feedline.report.basis import Basis, Trained
from feedline.session.applied import Applied
from feedline.session.child import Examination
from feedline.session.messages import Order, Outcome
from feedline.session.plans import loops_to_rewrite, plan_for, refusal
from feedline.session.seen import seen_by

log = logging.getLogger(__name__)

_LEAST_SHARE = 0.2  # of the time for measuring, below which nothing is begun


class Runner(Examination):
    """`order.plan` is a plan to apply; without one, it is made on the way."""

    stops = False

    def __init__(self, order: Order, channel: Channel, voice: Voice) -> None:
        super().__init__(order, channel, voice)
        self.allowed = grades(order.allow)
        self.given = order.plan
        self.made: SavedPlan | None = None
        self.applied = Applied(self.say)
        self.measuring_s = 0.0
        self._found: Basis | None = None
        self._plans: list[SavedPlan] = []
        self._begun: dict[int, Part] = {}  # the steps as they were at the beginning
        self._refused = False
        self._given_up = False
        self._told_of_budget = False
        self.watch.before_fit = self._guarded(self.before_fit)
        self.watch.after_fit = self._guarded(self.applied.fit_is_over)
        self.watch.first_step = self._guarded(self.first_step)
        self.watch.instead = self.instead
        self.live = Live(self.watch, voice)
        if order.live:
            self.live.begin()

    def hoists(self) -> Hoist:
        return loops_to_rewrite(self.given, self.order.target[0])

    def guard(self) -> None:
        """A script that trains to its end may wait as long as it likes."""

    def ended(self, code: int) -> None:  # noqa: ARG002
        self.live.end()
        saved = self.applied.close()
        if saved:
            self.say(saved)
        self._conclude(self._came_to())

    def _came_to(self) -> Outcome:
        applied = self.applied
        return structs.replace(
            seen_by(self.watch),
            plan=self.made or self.given,
            basis=self._found,
            applied=bool(applied.steps or applied.replaces),
            trained=Trained(applied.steps, applied.seconds, self.measuring_s),
        )

    def _guarded(self, method: Callable[..., None]) -> Callable[..., None]:
        """What fails in us is told in one line; the script goes on."""

        def guarded(*args: Any) -> None:
            try:
                method(*args)
            except Exception as error:
                self.failed(error)

        return guarded

    def failed(self, error: Exception) -> None:
        self._given_up = True
        log.info("failed", exc_info=error)
        insist = ""
        if isinstance(error, CannotPutBack):
            insist = ". To measure it in a hidden run first: feedline run --rehearse"
        self.say(f"your script runs without fixes: {said(error)}{insist}")

    # ------------------------------------------------------------------- fit

    def before_fit(self, loop: Any, epochs: Any) -> None:
        """Just before the first step of a fit."""
        import tensorflow as tf

        if not isinstance(loop.source, tf.data.Dataset) or not self._is_wanted():
            return
        if getattr(loop.source, marks.TUNED, False):
            return
        with self.watch.pause():
            pipeline = self._pipeline(loop.source)
            if pipeline is None:
                return
            edits = self._edits_for(loop, pipeline)
            if not edits and self.applied.instead_of(loop.source) is not None:
                # Read with edits before, or made from what was: the shuffles of the
                # script's own dataset stand where they stood then, those of the tuned
                # one went on.
                self.applied.swap(loop, epochs)
                return
            if edits is None:
                if self.why_not_here(loop, pipeline):
                    self.bound_at_start(loop, pipeline)
                    return  # `on_warm` will see to it
                edits = self._tune(loop, pipeline)
            self.applied.to_fit(loop, epochs, edits)

    def _is_wanted(self) -> bool:
        wanted = self.order.loop
        return wanted is None or len(self.watch.loops) + 1 == wanted

    def _pipeline(self, dataset: Any) -> Pipeline | None:
        from feedline.job.tfdata.read import read

        try:
            return read(dataset).numbered()
        except FeedlineError:
            return None

    def why_not_here(self, loop: Any, pipeline: Pipeline) -> str:
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

    def _edits_for(self, loop: Any, pipeline: Pipeline) -> tuple[Edit, ...] | None:
        """The edits that are known for this job; None where it is to be measured."""
        now = bound(pipeline, step_of(loop))
        for plan in self._plans:
            if plan.where == str(loop.where) and refusal(plan, now) is None:
                return plan.edits
        if self.given is None:
            return None
        if str(loop.where) != self.given.where and self.given.where:
            return ()
        return () if self._refuses(self.given, now) else self.given.edits

    def _refuses(self, plan: SavedPlan, now: Binding) -> bool:
        """Is the job as it is now another than the plan was made for? Said once."""
        reason = refusal(plan, now)
        if reason is not None and not self._refused:
            self._refused = True
            self.say(f"{reason}. Your script runs without fixes")
        return reason is not None

    def _tune(self, loop: Any, pipeline: Pipeline) -> tuple[Edit, ...]:
        from feedline.job.loops.snapshot import nbytes, variables_of
        from feedline.job.tfdata.owners import reachable
        from feedline.measure.machine import memory
        from feedline.session.stand_ins import shared
        from feedline.session.tuning import examine_and_cure, stages_in_use

        if nbytes(variables_of(loop.model)) > memory()[1] / 4:
            raise FeedlineError("a copy of the model's variables would not fit")
        seconds = self._seconds_left(loop.where)
        if not seconds:
            return ()
        self.sampler.stop()
        self.say_measuring(loop, seconds)
        now = bound(pipeline, step_of(loop))
        began = time.perf_counter()
        try:
            found = examine_and_cure(
                loop.model,
                loop.source,
                self.allowed,
                seconds,
                where=loop.where,
                facts=_facts_of(loop),
                used=stages_in_use(pipeline, list(self.watch.read_already))
                | shared(pipeline),
                reached=reachable(pipeline),
                lines=self.watch.tables,
                say=self.say,
                examined=lambda job, measured: self._examined(loop, job, measured),
            )
        finally:
            self.measuring_s += time.perf_counter() - began
        job = replace(found.job, callbacks=loop.callbacks)
        edits = found.cured.edits
        self._found = self._basis(loop, job, found.measured, found.cured)
        self.made = plan_for(loop, now, pipeline, found.cured)
        self._plans.append(self.made)
        self._keep()
        self.say(
            "applying " + ", ".join(edit.fix for edit in edits)
            if edits
            else "no allowed fix made it faster; your script runs unchanged"
        )
        return edits

    def _seconds_left(self, where: Where | None) -> float:
        """`--seconds` is for all that is measured in a run, not for each fit; 0 where
        too little is left to find anything out."""
        left = self.order.seconds - self.measuring_s
        if left >= _LEAST_SHARE * self.order.seconds:
            return left
        if not self._told_of_budget:
            self._told_of_budget = True
            self.say(
                f"the {self.order.seconds:g} s for measuring are used up; the training "
                f"at {where} runs unchanged. To measure it, give a larger --seconds"
            )
        return 0.0

    def _examined(self, loop: Any, job: Job, measured: Measurement) -> None:
        """What is known before the cure is tried, should that fail."""
        with suppress(Exception):
            job = replace(job, callbacks=loop.callbacks)
            self._found = self._basis(loop, job, measured)

    # ------------------------------------------------------- a loop of the user's

    def instead(self, dataset: Any, where: Where | None) -> Any:
        """What is read in this dataset's place: the tuned one, once there is one,
        wherever it is read; or this loop of the script's, with the plan applied."""
        try:
            with self.watch.pause():
                read = self._read_for(dataset, where)
                self.applied.let_go(read)
                return read
        except Exception as error:
            self.failed(error)
            return dataset

    def _read_for(self, dataset: Any, where: Where | None) -> Any:
        plan, known = self.given, self.applied.instead_of(dataset)
        if known is not None:
            return known
        if plan is None or self.watch.fits.now is not None or str(where) != plan.where:
            return dataset
        if getattr(dataset, marks.TUNED, False) or not plan.edits:
            return dataset
        pipeline = self._pipeline(dataset)
        if pipeline is None:
            return dataset
        if self._refuses(
            replace(plan, made_for=without_step(plan.made_for)), bound(pipeline)
        ):
            return dataset
        if fixes.own_loop(plan.edits).steps > 1:
            steps_per_execution.check_own(pipeline)
        return self.applied.tuned(dataset, plan.edits)

    def first_step(self, loop: Any) -> None:
        """After the first step of a loop of the user's: its variables are there."""
        plan = self.given
        if plan is None or self._given_up:
            with self.watch.pause():
                self._begun[id(loop)] = step_of(loop)
            return
        if self._refused or str(loop.where) != plan.where:
            return
        with self.watch.pause():
            step = Binding((step_of(loop),)) if plan.of_step else Binding()
            if self._refuses(replace(plan, made_for=only_step(plan.made_for)), step):
                return
        asked = fixes.own_loop(plan.edits)
        if asked.as_graph:
            own = loop.own_step()
            own.tell = self._step_lost
            own.fused = asked.fused
            own.on = True
        if asked.steps > 1:
            loop.together = loop.steps_together(asked.steps)
            loop.together.tell = self._together_lost

    def _step_lost(self, why: str) -> None:
        """The graph of the step is no longer the same: as an edit of the source it
        would be wrong."""
        self.say(f"the step runs from Python again: {why}")
        self._unsaid(lambda asked: asked.as_graph or asked.fused)

    def _together_lost(self, why: str) -> None:
        self.say(f"steps are launched one by one again: {why}")
        self._unsaid(lambda asked: asked.steps > 1)

    def _unsaid(self, lost: Callable[[fixes.OwnLoop], bool]) -> None:
        """What is no longer applied is not written into the source either."""
        for edit in self.given.edits if self.given is not None else ():
            if self.given is not None and lost(fixes.own_loop((edit,))):
                self.given = self.given.without_place(edit.fix)

    def on_warm(self, loop: Any) -> None:
        """A loop that was not cured at its start: it goes on as it is."""
        if self.given is not None or self.made is not None or self._given_up:
            return
        if self.order.told:
            return
        pipeline = self._pipeline(loop.source) if loop.source is not None else None
        if pipeline is None or not pipeline.rereadable:
            self.say(
                f"the input of the loop at {loop.where} cannot be read twice; your "
                "script runs without fixes"
            )
            return
        why = "what it changes cannot be put back"
        if loop.kind == "fit":
            why = self.why_not_here(loop, pipeline) or why
        self.say(
            f"the training at {loop.where} runs without fixes: measuring it here could "
            f"change its result, because {why}. To measure it in a hidden run first: "
            "feedline run --rehearse"
        )

    def bound_at_start(self, loop: Any, pipeline: Pipeline) -> Binding:
        """What a plan for this job rests on: the pipeline as it is, and the step as it
        was when a run with the plan will look at it."""
        if id(loop) not in self._begun:
            self._begun[id(loop)] = step_of(loop)
        return bound(pipeline, self._begun[id(loop)])

    def _keep(self) -> None:
        """The plan is worth keeping even if the script comes to a bad end."""
        self.send(self._came_to())


def said(error: Exception) -> str:
    text = one_sentence(error)
    if isinstance(error, FeedlineError | CannotFix):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _facts_of(loop: Any) -> Callable[[Any], None]:
    """What the copy of a loop cannot know by itself."""

    def tell(copy: Any) -> None:
        copy.epochs = loop.epochs
        copy.restarts = loop.restarts
        copy.callbacks = loop.callbacks
        copy.steps_per_epoch = loop.steps_per_epoch or copy.steps_per_epoch

    return tell
