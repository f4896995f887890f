"""The process in which the user's script runs under `feedline run`, to its end.

Three roads, by what the script turns out to be:

- `Model.fit` on data that can be read twice: just before its first step the job is
  measured and cured on a copy, everything is put back, the proved edits are
  applied, and the script goes on (`fits.py`; its validation likewise, `validation/`).
- A loop of its own: cured while it trains, on its own steps (`live/`).
- A plan is given (by a rehearsal, or from a file): it is applied, nothing is measured
  (`planned_loops.py`, and `fits.py` for a fit).

Nobody can put back what data made by the user's Python does, nor all that other loops
change: such a training goes on as it is, with one line that says so, and the outcome
says what a rehearsal (`rehearsal/`) might find.

Whatever fails here costs the fixes, not the script.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from msgspec import structs

from feedline.errors import CannotPutBack, FeedlineError, one_sentence
from feedline.fixes.binding import Binding
from feedline.fixes.fix import CannotFix, grades
from feedline.fixes.identity.part import Part
from feedline.fixes.identity.step import step_of
from feedline.fixes.means.own_step.hoist import Hoist
from feedline.fixes.saved import SavedPlan
from feedline.job.job import Job
from feedline.job.tfdata.pipeline import Pipeline, Where
from feedline.measure.measurement import Measurement
from feedline.monitor.live import Live
from feedline.process.channel import Channel
from feedline.process.voice import Voice
from feedline.prove.bound import bound
from feedline.prove.proof import Cured
from feedline.report.basis import Basis, Trained
from feedline.session.examination import Examination
from feedline.session.live.own_loops import OwnLoops
from feedline.session.live.own_shapes import OwnShapes
from feedline.session.messages import Order, Outcome
from feedline.session.plans.applied import Applied
from feedline.session.plans.known import KnownPlans
from feedline.session.plans.memory import Remembered
from feedline.session.run.fits import Fits, why_not_here
from feedline.session.run.in_passing import InPassing
from feedline.session.run.measuring_time import MeasuringTime
from feedline.session.run.planned_loops import PlannedLoops
from feedline.session.seen import seen_by
from feedline.session.validation.edits import validation_of
from feedline.session.validation.one_fit import with_validation
from feedline.session.validation.validations import Validations

log = logging.getLogger(__name__)


class Runner(Examination):
    """`order.plan` is a plan to apply; without one, it is made on the way. `found` is
    what the report will say; `begun` are the steps as they were at the beginning, by
    the `id` of a loop."""

    stops = False

    def __init__(self, order: Order, channel: Channel, voice: Voice) -> None:
        super().__init__(order, channel, voice)
        self.allowed = grades(order.allow)
        self.plans = KnownPlans(order, self.say)
        self.time = MeasuringTime(order, self.say)
        self.applied = Applied(self.say)
        self.in_passing = InPassing(self.clock)
        self.fits = Fits(self)
        self.planned = PlannedLoops(self)
        self.own_loops = OwnLoops(self)
        self.shapes = OwnShapes(self)
        self.validations = Validations(self)
        self.found: Basis | None = None
        self.begun: dict[int, Part] = {}
        self.why_not = ""
        self.given_up = False
        self._listen()
        self.live = Live(self.watch, voice)
        if order.live:
            self.live.begin()

    def _listen(self) -> None:
        watch = self.watch
        watch.functions.leader = self.shapes
        watch.before_fit = self._guarded(self.before_fit)
        watch.after_fit = self._guarded(self.after_fit)
        watch.validation_begins = self._guarded(self.validations.begins)
        watch.validation_ends = self._guarded(self.validations.ends)
        watch.epoch_begins = self._guarded(self.epoch_begins)
        watch.first_step = self._guarded(self.planned.first_step)
        watch.instead = self.instead

    def hoists(self) -> Hoist:
        return self.plans.to_rewrite()

    def guard(self) -> None:
        """A script that trains to its end may wait as long as it likes."""

    # ------------------------------------------------------------- what it came to

    def ended(self, code: int) -> None:  # noqa: ARG002
        self.live.end()
        self.own_loops.ended()
        self.shapes.ended()
        saved = self.applied.close()
        if saved:
            self.say(saved)
        if self.found is None and self.plans.given is None:
            self._seen_in_passing()
        self._conclude(self._came_to())

    def _seen_in_passing(self) -> None:
        """A verdict from what the training showed by itself; none if that fails."""
        with suppress(Exception), self.watch.pause():
            found = self.in_passing.measured(self.watch)
            if found is not None:
                known = self.validations.known(found[0])
                self.found = with_validation(self.basis(*found), *known)

    def _came_to(self) -> Outcome:
        applied, own = self.applied, self.own_loops
        shapes = self.shapes
        steps, seconds = own.trained()
        more_steps, more_seconds = shapes.trained()
        return structs.replace(
            seen_by(self.watch),
            plan=self._plan(),
            learned=tuple(self.plans.learned),
            basis=self.found,
            applied=bool(applied.steps or applied.replaces or own.on or shapes.on()),
            trained=Trained(
                applied.steps + steps + more_steps,
                applied.seconds + seconds + more_seconds,
                self.time.spent_s + own.cost_s + shapes.cost_s,
                self.validations.passes,
                self.validations.seconds,
            ),
            uncured=own.uncured,
            trained_s=dict(self.time.trained_s),
            too_short=self.time.too_short(),
        )

    def _plan(self) -> SavedPlan | None:
        """That of the training, with that of its validation in it."""
        plan, inner = self.plans.in_use, self.validations.plan
        if plan is None or inner is None or inner.where != validation_of(plan.where):
            return plan
        return replace(plan, validation=inner)

    def remember(self, known: Remembered) -> None:
        """The next run may use it."""
        self.plans.learned.append(known)
        self.keep()

    def keep(self) -> None:
        """The plan is worth keeping even if the script comes to a bad end."""
        self.send(self._came_to())

    def _guarded(self, method: Callable[..., None]) -> Callable[..., None]:
        """What fails in us is told in one line; the script goes on."""

        def guarded(*args: Any) -> None:
            try:
                method(*args)
            except Exception as error:
                self.failed(error)

        return guarded

    def failed(self, error: Exception) -> None:
        self.given_up = True
        log.info("failed", exc_info=error)
        insist = ""
        self.why_not = said(error)
        if isinstance(error, CannotPutBack):
            insist = ". To measure it in a hidden run first: feedline run --rehearse"
        self.say(f"your script runs without fixes: {said(error)}{insist}")

    # ------------------------------------------------------------------- fit

    def before_fit(self, loop: Any, epochs: Any) -> None:
        """Just before the first step of a fit."""
        self.why_not = ""
        try:
            self.fits.begins(loop, epochs)
        except Exception as error:
            self.failed(error)
        if self.plans.given is None and self.found is None and self.why_not:
            self.in_passing.follow(loop, self.why_not)
        self.fits.trains(loop)

    def epoch_begins(self, loop: Any) -> None:
        self.validations.epoch_begins(loop)
        self.fits.epoch_begins(loop)

    def after_fit(self, loop: Any) -> None:
        self.fits.over(loop)
        self.applied.fit_is_over(loop)
        self.validations.over(loop)
        times, cured, why_not = self.validations.known(loop)
        if self.found is None and cured is not None and cured.edits:
            self.in_passing.noted(loop, "its training is too short for that")
        if self.found is None:
            self.in_passing.over(loop, self.watch)
        if self.found is not None and self.found.job.where == loop.where:
            self.found = with_validation(self.found, times, cured, why_not)

    # ------------------------------------------------------- a loop of the user's

    def instead(self, dataset: Any, where: Where | None) -> Any:
        """What is read in this dataset's place."""
        try:
            with self.watch.pause():
                read = self.planned.read_for(dataset, where)
                self.applied.let_go(read)
                return read
        except Exception as error:
            self.failed(error)
            return dataset

    def on_warm(self, loop: Any) -> None:
        """A loop that was not cured at its start."""
        if self.plans.in_use is not None or self.given_up:
            return
        if self.fits.is_settled(loop):
            return
        try:
            why = self._not_cured(loop)
        except Exception as error:
            self.failed(error)
            return
        if why:
            self.in_passing.why.setdefault(id(loop), why)
            self.in_passing.write_down(loop, self.watch)
            if not self.order.told and not self.shapes.on(loop):
                self.say(f"the training at {loop.place} runs without fixes: {why}")

    def _not_cured(self, loop: Any) -> str:
        """Why nothing is done about it; empty where something is."""
        pipeline = self.pipeline_of(loop.source) if loop.source is not None else None
        if loop.kind == "loop":
            return self.own_loops.warm(loop)
        if pipeline is None or not pipeline.rereadable:
            return "its data cannot be read twice"
        why = "what it changes cannot be put back"
        if loop.kind == "fit":
            why = why_not_here(loop, pipeline) or why
        self.own_loops.not_here(loop, why)
        return f"{why}. To measure it in a hidden run first: feedline run --rehearse"

    def found_live(
        self,
        loop: Any,
        job: Job,
        measured: Measurement,
        cured: Cured,
        plan: SavedPlan | None,
    ) -> None:
        """What was found out about a loop of the script's while it trained."""
        self.found = self.basis(loop, job, measured, cured)
        if plan is not None:
            step_ms = measured.step.observed.value
            self.plans.make(plan, self.own_loops.cost_s, step_ms)
        self.keep()

    # ------------------------------------------------------------- asked on all roads

    def is_wanted(self) -> bool:
        """Is the fit that begins one that the user wants to be looked at?"""
        wanted = self.order.loop
        return wanted is None or len(self.watch.loops) + 1 == wanted

    def was_wanted(self, loop: Any) -> bool:
        """The same, of a fit whose training has begun."""
        wanted, loops = self.order.loop, self.watch.loops
        return wanted is None or loops[wanted - 1 : wanted] == [loop]

    def pipeline_of(self, dataset: Any) -> Pipeline | None:
        from feedline.job.tfdata.read import read

        try:
            return read(dataset).numbered()
        except FeedlineError:
            return None

    def bound_at_start(self, loop: Any, pipeline: Pipeline) -> Binding:
        """What a plan for this job rests on: the pipeline as it is, and the step as it
        was when a run with the plan will look at it."""
        if id(loop) not in self.begun:
            self.begun[id(loop)] = step_of(loop)
        return bound(pipeline, self.begun[id(loop)])


def said(error: Exception) -> str:
    text = one_sentence(error)
    if isinstance(error, FeedlineError | CannotFix):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
