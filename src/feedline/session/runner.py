"""The process in which the user's script runs under `feedline run`, to its end.

Three roads, by what the script turns out to be:

- `Model.fit` on data that can be read twice: just before its first step the job is
  measured and cured on a copy, everything is put back, the proved edits are
  applied, and the script goes on.
- A loop of its own: cured while it trains, on its own steps (`own_loops.py`).
- A plan is given (by a rehearsal, or from a file): it is applied, nothing is measured.

Nobody can put back what data made by the user's Python does, nor all that other loops
change: such a training goes on as it is, with one line that says so, and the outcome
says what a rehearsal (`rehearsal/`) might find.

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
from feedline.measure.measurement import Measurement, ValidationTimes
from feedline.monitor.live import Live
from feedline.process.channel import Channel
from feedline.process.voice import Voice
from feedline.prove.bound import bound
from feedline.prove.proof import Cured
from feedline.report.basis import Basis, Trained
from feedline.session.applied import Applied
from feedline.session.child import Examination
from feedline.session.in_passing import InPassing
from feedline.session.memory import Remembered
from feedline.session.messages import Order, Outcome
from feedline.session.own_loops import OwnLoops
from feedline.session.own_shapes import OwnShapes
from feedline.session.plans import loops_to_rewrite, plan_for, refusal
from feedline.session.seen import seen_by
from feedline.session.validations import Validations, validation_of
from feedline.session.worth import Budget, TooShort

log = logging.getLogger(__name__)

_MOST_LOOKING_S = 2.0  # for finding out that fits are too short to be measured
_LEAST_SHARE = 0.2  # of the time for measuring, below which nothing is begun
_VALIDATIONS_SHARE = 0.25  # of the time for measuring a fit


class Runner(Examination):
    """`order.plan` is a plan to apply; without one, it is made on the way."""

    stops = False

    def __init__(self, order: Order, channel: Channel, voice: Voice) -> None:
        super().__init__(order, channel, voice)
        self.allowed = grades(order.allow)
        self.given = order.plan
        self.made: SavedPlan | None = None
        self.recalled: SavedPlan | None = None  # of an earlier run, and in use
        self.applied = Applied(self.say)
        self.measuring_s = 0.0
        self.in_passing = InPassing(self.clock)
        self.own_loops = OwnLoops(self)
        self.shapes = OwnShapes(self)
        self.watch.functions.leader = self.shapes
        self.validations = Validations(self)
        self._why_not = ""
        self._found: Basis | None = None
        self._plans: list[SavedPlan] = []
        self._learned: list[Remembered] = []
        self._stale: set[str] = set()  # the lines whose remembered plan does not hold
        self._begun: dict[int, Part] = {}  # the steps as they were at the beginning
        self._refused = False
        self._given_up = False
        self._told_of_budget = False
        self._too_short: set[str] = set()  # the lines of fits not worth measuring
        self._looking_s = 0.0
        self._used_at_once: set[int] = set()
        self.watch.before_fit = self._guarded(self.before_fit)
        self.watch.after_fit = self._guarded(self.after_fit)
        self.watch.validation_begins = self._guarded(self.validations.begins)
        self.watch.validation_ends = self._guarded(self.validations.ends)
        self.watch.epoch_begins = self._guarded(self.epoch_begins)
        self.watch.first_step = self._guarded(self.first_step)
        self.watch.instead = self.instead
        self.live = Live(self.watch, voice)
        if order.live:
            self.live.begin()

    def hoists(self) -> Hoist:
        plans = [self.given] if self.given else self._of_this_source()
        return loops_to_rewrite(plans, self.order.target[0])

    def _of_this_source(self) -> list[SavedPlan]:
        """Remembered plans that may rewrite a loop while the script loads, before
        anything can be compared: only if not a byte of it changed."""
        return [each.plan for each in self.order.remembered if each.same_source]

    def guard(self) -> None:
        """A script that trains to its end may wait as long as it likes."""

    def ended(self, code: int) -> None:  # noqa: ARG002
        self.live.end()
        self.own_loops.ended()
        self.shapes.ended()
        saved = self.applied.close()
        if saved:
            self.say(saved)
        if self._found is None and self.given is None:
            self._seen_in_passing()
        self._conclude(self._came_to())

    def _seen_in_passing(self) -> None:
        """A verdict from what the training showed by itself; none if that fails."""
        with suppress(Exception), self.watch.pause():
            found = self.in_passing.measured(self.watch)
            if found is not None:
                known = self.validations.known(found[0])
                self._found = with_validation(self._basis(*found), *known)

    def _came_to(self) -> Outcome:
        applied, own = self.applied, self.own_loops
        shapes = self.shapes
        steps, seconds = own.trained()
        more_steps, more_seconds = shapes.trained()
        return structs.replace(
            seen_by(self.watch),
            plan=self._plan(),
            learned=tuple(self._learned),
            basis=self._found,
            applied=bool(applied.steps or applied.replaces or own.on or shapes.on()),
            trained=Trained(
                applied.steps + steps + more_steps,
                applied.seconds + seconds + more_seconds,
                self.measuring_s + own.cost_s + shapes.cost_s,
                self.validations.passes,
                self.validations.seconds,
            ),
            uncured=own.uncured,
        )

    def _plan(self) -> SavedPlan | None:
        """That of the training, with that of its validation in it."""
        plan, inner = self.made or self.given or self.recalled, self.validations.plan
        if plan is None or inner is None or inner.where != validation_of(plan.where):
            return plan
        return replace(plan, validation=inner)

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
        self._why_not = said(error)
        if isinstance(error, CannotPutBack):
            insist = ". To measure it in a hidden run first: feedline run --rehearse"
        self.say(f"your script runs without fixes: {said(error)}{insist}")

    # ------------------------------------------------------------------- fit

    def before_fit(self, loop: Any, epochs: Any) -> None:
        """Just before the first step of a fit."""
        try:
            self._fix_fit(loop, epochs)
        except Exception as error:
            self.failed(error)
        if self.given is None and self._found is None and self._why_not:
            self.in_passing.follow(loop, self._why_not)

    def _fix_fit(self, loop: Any, epochs: Any) -> None:
        import tensorflow as tf

        if not isinstance(loop.source, tf.data.Dataset) or not self._is_wanted():
            return
        if getattr(loop.source, marks.TUNED, False):
            return
        with self.watch.pause():
            pipeline = self.pipeline_of(loop.source)
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
                self._why_not = self.why_not_here(loop, pipeline)
                if self._why_not:
                    self.bound_at_start(loop, pipeline)
                    self._at_once(loop, epochs, pipeline)
                    return  # `on_warm` will see to it
                edits = self._tune(loop, pipeline)
            self.applied.to_fit(loop, epochs, edits, self._step_ms(loop))

    def after_fit(self, loop: Any) -> None:
        self.applied.fit_is_over(loop)
        self.validations.over(loop)
        times, cured, why_not = self.validations.known(loop)
        if self._found is None and cured is not None and cured.edits:
            self.in_passing.noted(loop, "its training is too short for that")
        if self._found is not None and self._found.job.where == loop.where:
            self._found = with_validation(self._found, times, cured, why_not)

    def epoch_begins(self, loop: Any) -> None:
        """What was proved stays under watch."""
        self.validations.epoch_begins(loop)
        with self.watch.pause():
            plan = self.made or self.recalled
            if self.applied.take_off_if_slower(loop, self.watch.fits) and plan:
                nothing = replace(plan, edits=(), places=(), grades=())
                self._learned.append(Remembered(nothing, self.order.seconds))

    def _step_ms(self, loop: Any) -> float:
        """The job's own step, as it was measured in this run or an earlier one."""
        known = [*reversed(self._learned), *self.order.remembered]
        own = (each.step_ms for each in known if each.plan.where == str(loop.where))
        return next(own, 0.0)

    def _at_once(self, loop: Any, epochs: Any, pipeline: Pipeline) -> None:
        """What needs no trial, in a job that goes through its data more than once."""
        again = loop.epochs is None or loop.epochs > 1 or loop.once
        if not again or loop.strategy is not None:
            return
        found = fixes.at_once(pipeline)
        if not found:
            return
        edits = tuple(each.proposal.edit for each in found)
        try:
            self.applied.to_fit(loop, epochs, edits)
        except (CannotFix, FeedlineError) as reason:
            log.info("nothing at once: %s", reason)
            return
        self.in_passing.uses(loop, found, self.say)
        self._used_at_once.add(id(loop))
        names = ", ".join(edit.fix for edit in edits)
        self.say(f"applying {names} without a trial: {self._why_not}")

    def _is_wanted(self) -> bool:
        wanted = self.order.loop
        return wanted is None or len(self.watch.loops) + 1 == wanted

    def pipeline_of(self, dataset: Any) -> Pipeline | None:
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
            return self._recall(loop, now)
        if str(loop.where) != self.given.where and self.given.where:
            return ()
        return () if self.refuses(self.given, now) else self.given.edits

    def _recall(self, loop: Any, now: Binding) -> tuple[Edit, ...] | None:
        """The edits of an earlier run that hold for this job; None where there is none,
        or too little time was spent on it then."""
        where = str(loop.where)
        for known in self.order.remembered:
            if known.plan.where != where:
                continue
            reason = refusal(known.plan, now)
            if reason is None and known.is_final(self._worth(loop, known)):
                self._reuse(known.plan)
                return known.plan.edits
            if reason is not None:
                self.outdated(where, reason)
        return None

    def _worth(self, loop: Any, known: Remembered) -> float:
        """How long it would be measured now."""
        if self.order.given or loop.epochs is None or loop.steps_per_epoch is None:
            return self.order.seconds if self.order.given else 0.0
        training_s = loop.epochs * loop.steps_per_epoch * known.step_ms / 1e3
        with suppress(TooShort):
            return Budget(self.order.seconds).for_training(training_s)
        return 0.0

    def uses(self, plan: SavedPlan) -> None:
        """Said once, of a plan of an earlier run."""
        if self.given is None and self.recalled is not plan:
            self._reuse(plan)

    @property
    def has_found(self) -> bool:
        return self._found is not None

    def _reuse(self, plan: SavedPlan) -> None:
        self.recalled = plan
        names = ", ".join(edit.fix for edit in plan.edits)
        self.say(
            f"applying {names}, as an earlier run found (--fresh measures again)"
            if names
            else "an earlier run found no fix that helps; your script runs unchanged "
            "(--fresh measures again)"
        )

    def outdated(self, where: str, reason: str) -> None:
        """Said once."""
        if where not in self._stale:
            self._stale.add(where)
            changed = reason.partition(";")[0]
            self.say(
                f"what an earlier run found for {where} no longer holds: {changed}"
            )

    def refuses(self, plan: SavedPlan, now: Binding) -> bool:
        """Is the job as it is now another than the plan was made for? Said once."""
        reason = refusal(plan, now)
        if reason is not None and self.given is None:
            self.outdated(plan.where, reason)
        elif reason is not None and plan.edits and not self._refused:
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
        if not seconds or not self.may_look(str(loop.where)):
            return ()
        if loop.validation is not None and loop.validation.passes != 1:
            seconds *= 1 - _VALIDATIONS_SHARE
        self.sampler.stop()
        now = bound(pipeline, step_of(loop))
        began = time.perf_counter()
        try:
            found = examine_and_cure(
                loop.model,
                loop.source,
                self.allowed,
                Budget(seconds, self.order.given),
                where=loop.where,
                facts=_facts_of(loop),
                used=stages_in_use(pipeline, list(self.watch.read_already))
                | shared(pipeline),
                reached=reachable(pipeline),
                lines=self.watch.tables,
                say=self.say,
                budgeted=lambda seconds: self.say_measuring(loop, seconds),
                examined=lambda job, measured: self._examined(loop, job, measured),
            )
        except TooShort as short:
            self.looked(str(loop.where), time.perf_counter() - began)
            self.say(f"{loop.where}: {short}; it runs unchanged")
            return ()
        finally:
            self.measuring_s += time.perf_counter() - began
        job = replace(found.job, callbacks=loop.callbacks)
        edits = found.cured.edits
        self._found = self._basis(loop, job, found.measured, found.cured)
        self.made = plan_for(loop, now, pipeline, found.cured)
        self._plans.append(self.made)
        spent_s = time.perf_counter() - began
        step_ms = found.measured.step.observed.value
        self._learned.append(Remembered(self.made, spent_s, step_ms))
        self._keep()
        self.say(
            "applying " + ", ".join(edit.fix for edit in edits)
            if edits
            else "no allowed fix made it faster; your script runs unchanged"
        )
        return edits

    def may_look(self, where: str) -> bool:
        """Is it not known yet that what stands there is too short to be measured, and
        was not too much time spent on finding such things out?"""
        looking = self.order.given or self._looking_s <= _MOST_LOOKING_S
        return looking and where not in self._too_short

    def looked(self, where: str, seconds: float) -> None:
        """It took so long to see that it is too short."""
        self._looking_s += seconds
        self._too_short.add(where)

    def seconds_for_validation(self) -> float:
        """The part that the training left, and of the rest no more than half."""
        whole = self.order.seconds
        left = min(whole / 2, whole - self.measuring_s)
        return max(_VALIDATIONS_SHARE * whole, left)

    def remember(self, known: Remembered) -> None:
        self._learned.append(known)
        self._keep()

    def watch_chooses(self, loop: Any) -> bool:
        """Is this fit one that the user wants to be looked at?"""
        wanted, loops = self.order.loop, self.watch.loops
        return wanted is None or loops[wanted - 1 : wanted] == [loop]

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
        known = self.applied.instead_of(dataset)
        if known is not None:
            return known
        plan = self._plan_at(where)
        if plan is None or self.watch.fits.now is not None:
            return dataset
        if getattr(dataset, marks.TUNED, False) or not plan.edits:
            return dataset
        pipeline = self.pipeline_of(dataset)
        if pipeline is None:
            return dataset
        if self.refuses(
            replace(plan, made_for=without_step(plan.made_for)), bound(pipeline)
        ):
            return dataset
        if fixes.own_loop(plan.edits).steps > 1:
            steps_per_execution.check_own(pipeline)
        return self.applied.tuned(dataset, plan.edits)

    def _plan_at(self, where: Where | None) -> SavedPlan | None:
        """The plan for a loop of the script's own at this line."""
        if self.given is not None:
            return self.given if str(where) == self.given.where else None
        if str(where) in self._stale:
            return None
        found = self.own_loops.plan
        plans = [] if found is None else [found]
        plans += self._of_this_source()
        return next((plan for plan in plans if plan.where == str(where)), None)

    def first_step(self, loop: Any) -> None:
        """After the first step of a loop of the user's: its variables are there."""
        plan = self._plan_at(loop.where)
        if plan is None or self._given_up:
            with self.watch.pause():
                self._begun[id(loop)] = step_of(loop)
            return
        if self._refused:
            return
        with self.watch.pause():
            step = Binding((step_of(loop),)) if plan.of_step else Binding()
            if self.refuses(replace(plan, made_for=only_step(plan.made_for)), step):
                return
        if self.given is None:
            self.uses(plan)
        asked = fixes.own_loop(plan.edits)
        if asked.as_graph:
            own = loop.own_step()
            own.tell = self.step_lost
            own.fused = asked.fused
            own.on = True
        if asked.steps > 1:
            loop.together = loop.steps_together(asked.steps)
            loop.together.tell = self._together_lost

    def step_lost(self, why: str) -> None:
        """The graph of the step is no longer the same: as an edit of the source it
        would be wrong."""
        self.say(f"the step runs from Python again: {why}")
        self._unsaid(lambda asked: asked.as_graph or asked.fused)

    def lost_open_shapes(self) -> None:
        """The next run does without it as well."""
        self._unsaid(lambda asked: asked.open_shapes)
        plan = self.made or self.recalled
        if plan is None:
            return
        kept = [
            (edit, grade)
            for edit, grade in zip(plan.edits, plan.grades, strict=True)
            if not fixes.own_loop((edit,)).open_shapes
        ]
        edits, found = tuple(e for e, _ in kept), tuple(g for _, g in kept)
        self.made = replace(plan, edits=edits, grades=found)
        self._learned.append(Remembered(self.made, self.order.seconds))

    def _together_lost(self, why: str) -> None:
        self.say(f"steps are launched one by one again: {why}")
        self._unsaid(lambda asked: asked.steps > 1)

    def _unsaid(self, lost: Callable[[fixes.OwnLoop], bool]) -> None:
        """What is no longer applied is not written into the source either."""
        self.given, self.made, self.recalled = (
            _without_places(plan, lost)
            for plan in (self.given, self.made, self.recalled)
        )

    def on_warm(self, loop: Any) -> None:
        """A loop that was not cured at its start."""
        if (self.given or self.made or self.recalled) is not None or self._given_up:
            return
        said = str(loop.where) in self._too_short
        if said or id(loop) in self._used_at_once:  # which was said
            return
        try:
            why = self._not_cured(loop)
        except Exception as error:
            self.failed(error)
            return
        if why:
            self.in_passing.why.setdefault(id(loop), why)
            if not self.order.told and not self.shapes.on(loop):
                self.say(f"the training at {loop.where} runs without fixes: {why}")

    def _not_cured(self, loop: Any) -> str:
        """Why nothing is done about it; empty where something is."""
        pipeline = self.pipeline_of(loop.source) if loop.source is not None else None
        if loop.kind == "loop":
            return self.own_loops.warm(loop)
        if pipeline is None or not pipeline.rereadable:
            return "its data cannot be read twice"
        why = "what it changes cannot be put back"
        if loop.kind == "fit":
            why = self.why_not_here(loop, pipeline) or why
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
        self._found = self._basis(loop, job, measured, cured)
        if plan is not None:
            self.made = plan
            step_ms = measured.step.observed.value
            self._learned.append(Remembered(plan, self.own_loops.cost_s, step_ms))
        self._keep()

    def bound_at_start(self, loop: Any, pipeline: Pipeline) -> Binding:
        """What a plan for this job rests on: the pipeline as it is, and the step as it
        was when a run with the plan will look at it."""
        if id(loop) not in self._begun:
            self._begun[id(loop)] = step_of(loop)
        return bound(pipeline, self._begun[id(loop)])

    def _keep(self) -> None:
        """The plan is worth keeping even if the script comes to a bad end."""
        self.send(self._came_to())


def _without_places(
    plan: SavedPlan | None, lost: Callable[[fixes.OwnLoop], bool]
) -> SavedPlan | None:
    for edit in plan.edits if plan is not None else ():
        if plan is not None and lost(fixes.own_loop((edit,))):
            plan = plan.without_place(edit.fix)
    return plan


def with_validation(
    basis: Basis, times: ValidationTimes | None, cured: Cured | None, why_not: str
) -> Basis:
    """What was found out about the fit, and about its validation."""
    if times is None:
        return basis
    measured, job = replace(basis.measurement, validation=times), basis.job
    if why_not:
        note = f"Nothing was tried with its validation: {why_not}."
        job = replace(job, notes=tuple(dict.fromkeys((*job.notes, note))))
    return replace(basis, measurement=measured, job=job, validated=cured)


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
