"""The `tf.function`s that train in loops of the script's own, under `feedline run`: is
one traced again for every new shape, and what came of tracing it once for all of them.

Which call takes which trace is decided by `shape_choice.py`. Here stands when that
begins, by a plan of an earlier run or by itself, and what the report, the plan and the
user are told: at once, so that it is not lost, and again at the script's end.
"""

from __future__ import annotations

import logging
import weakref
from dataclasses import replace
from types import FrameType
from typing import TYPE_CHECKING, Any

from feedline import fixes
from feedline.fixes.binding import Binding
from feedline.session.live.joined import Found, joined
from feedline.session.plans.plan import plan_for, refusal

if TYPE_CHECKING:
    from feedline.fixes.identity.part import Part
    from feedline.fixes.saved import SavedPlan
    from feedline.session.live.shape_choice import ShapeChoice
    from feedline.session.run.runner import Runner

log = logging.getLogger(__name__)


class OwnShapes:
    """A `Leader` of `job/script/functions.py`."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self._lives: weakref.WeakKeyDictionary[Any, ShapeChoice] = (
            weakref.WeakKeyDictionary()
        )
        self._kept: list[ShapeChoice] = []
        self._bound: dict[int, Binding] = {}
        self._begun_as: dict[int, Part] = {}  # the steps, by the `id` of a loop
        self._found: dict[int, Found] = {}
        order = runner.order
        given = order.plan
        self._wanted = order.loop is None and (
            given is None or fixes.own_loop(given.edits).open_shapes
        )

    def leads(self, function: Any) -> bool:
        live = self._lives.get(function)
        return live is not None and live.phase != "over"

    def first(
        self,
        function: Any,
        original: Any,
        args: Any,
        kwargs: Any,
        frame: FrameType,
        seconds: float,
    ) -> None:
        if not self._wanted or function in self._lives:
            return
        try:
            with self.runner.watch.pause():
                live = self._begun(function, original, frame)
        except Exception:
            log.info("a tf.function cannot be followed", exc_info=True)
            return
        self.runner.watch.began = True
        if live is not None:
            live.first((args, kwargs), frame, seconds)
            self._lives[function] = live
            self._kept.append(live)

    def call(
        self, function: Any, original: Any, args: Any, kwargs: Any, frame: FrameType
    ) -> Any:
        live = self._lives.get(function)
        if live is None:
            return original(function, *args, **kwargs)
        begin = live.now()
        try:
            return live.call(args, kwargs, frame)
        finally:
            if live.unfed:
                live.loop.called(begin, live.now() - begin)

    # ------------------------------------------------------------------- it begins

    def _begun(
        self, function: Any, original: Any, frame: FrameType
    ) -> ShapeChoice | None:
        """None where an earlier run has found that nothing helps."""
        from feedline.fixes.identity.step import step_of
        from feedline.job.loops.facts import write_down
        from feedline.job.loops.unfed import UnfedLoop
        from feedline.session.live.shape_choice import ShapeChoice

        runner, watch = self.runner, self.runner.watch
        loop: Any = watch.active[-1] if watch.active else UnfedLoop(frame, watch.clock)
        loop.step_function = function
        self._begun_as[id(loop)] = step_of(loop)
        if isinstance(loop, UnfedLoop):
            loop.step_function = None  # a model may hang on it
        else:
            write_down(loop)
            self._binding(loop)
        known = self._known(loop)
        opens = known is not None and fixes.own_loop(known.edits).open_shapes
        unfed = isinstance(loop, UnfedLoop)
        if known is not None and (opens or unfed):
            runner.plans.uses(known)
        if known is not None and unfed and not opens:
            return None
        live = ShapeChoice(
            loop, function, original, watch, runner.allowed, self._done, expected=opens
        )
        live.lost = lambda why: self._lost(live, why)
        return live

    def _known(self, loop: Any) -> SavedPlan | None:
        """What was found here by an earlier run, or is in the plan that was given."""
        order = self.runner.order
        plans = [each.plan for each in order.remembered]
        plans = [order.plan] if order.plan is not None else plans
        for plan in plans:
            opens = fixes.own_loop(plan.edits).open_shapes
            unfed = loop.source is None
            if plan.where != str(loop.where) or not (opens or unfed):
                continue
            now = self._binding(loop)
            if refusal(plan, now) is None:
                return plan
            if unfed:  # else it is said where the data is read
                self.runner.plans.refuses(plan, now)
        return None

    def _binding(self, loop: Any) -> Binding:
        """What a plan for this loop rests on."""
        from feedline.prove.bound import bound, bound_without_input

        if id(loop) not in self._bound:
            source, step = loop.source, self._begun_as[id(loop)]
            pipeline = None if source is None else self.runner.pipeline_of(source)
            self._bound[id(loop)] = (
                bound_without_input(step) if pipeline is None else bound(pipeline, step)
            )
        return self._bound[id(loop)]

    # --------------------------------------------------------------- what came of it

    def _done(self, live: ShapeChoice) -> None:
        """It is on, or is refused."""
        if live.matters:
            from feedline.session.live.shapes_found import said

            self.runner.say(said(live))
            self._publish(live)

    def _lost(self, live: ShapeChoice, why: str) -> None:
        runner = self.runner
        runner.say(f"each shape of the step gets its own trace again: {why}")
        runner.plans.lost_open_shapes()
        self._publish(live)

    def _publish(self, live: ShapeChoice) -> None:
        """Whatever fails here costs the report."""
        from feedline.session.live.shapes_found import found_by

        runner, loop = self.runner, live.loop
        step, loop.step_function = loop.step_function, live.function
        try:
            with runner.watch.pause():
                job, measured, cured = found_by(live, runner.watch)
                job = replace(job, pipeline=loop.read_as)
                found = self._found[id(loop)] = job, measured, cured
                also = runner.own_loops.of_input.get(id(loop))
                if also is not None:
                    job, measured, cured = joined(found, also)
                plan: SavedPlan | None = None
                first = not live.account.steps
                if cured.edits or (live.unfed and first):
                    plan = plan_for(loop, self._binding(loop), job.pipeline, cured)
                runner.found_live(loop, job, measured, cured, plan)
        except Exception:
            log.info("open shapes could not be written down", exc_info=True)
        finally:
            loop.step_function = step

    def joined(self, loop: Any, found: Found) -> Found:
        """What was found of the input of this loop, with what is known of its step."""
        known = self._found.get(id(loop))
        return found if known is None else joined(known, found)

    def ended(self) -> None:
        """Whose tracing took the longest is told."""
        told = [each for each in self._kept if each.matters]
        for live in sorted(told, key=lambda each: sum(each.traces)):
            if live.account.steps or self.runner.found is None:
                self._publish(live)

    def on(self, loop: Any = None) -> bool:
        """Is it on in this loop, or in any?"""
        return any(
            each.phase == "on" and loop in (None, each.loop) for each in self._kept
        )

    @property
    def cost_s(self) -> float:
        return sum(each.cost_s for each in self._kept if each.found is not None)

    def trained(self) -> tuple[int, float]:
        """The steps of open traces, and their seconds."""
        accounts = [each.account for each in self._kept]
        steps = sum(each.steps for each in accounts)
        return steps, sum(each.spent for each in accounts)
