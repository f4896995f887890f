"""A loop of the script's own under `feedline run`, once it is warm: cured in the run
itself where that can be exact, else watched.

A step that is a function of the script's and runs from Python is tried as a graph on
the training's own steps (`step_trial.py`). Once that is known, or where the step is a
graph already, the input is looked at if the loop waits for it (`input_trial.py`). What
cannot be cured here, such as a step that stands in the loop itself, is written down as
`Uncured`, so that a later run may rehearse it where that pays.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Any

from feedline.errors import FeedlineError
from feedline.fixes.binding import Binding, without_step
from feedline.fixes.fix import CannotFix
from feedline.job.loops.loop import CannotRun
from feedline.job.tfdata.plain import without_handles
from feedline.session.live.joined import Found, joined
from feedline.session.live.training_time import left_s, training_s
from feedline.session.plans.memory import Uncured
from feedline.session.plans.plan import plan_for
from feedline.session.worth import Budget, TooShort, trial_pays

if TYPE_CHECKING:
    from feedline.fixes.saved import SavedPlan
    from feedline.job.tfdata.pipeline import Pipeline
    from feedline.session.live.input_trial import Step
    from feedline.session.live.step_trial import StepTrial
    from feedline.session.run.runner import Runner

log = logging.getLogger(__name__)

_INLINE = "its step is written straight into the loop, not in a function"
_SHORT_STEP_S = 0.005
_REHEARSE = "feedline run --rehearse"


class OwnLoops:
    """What is done with such loops in one run of a script. `plan` has the edits that
    their next passes are read with."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.trial: StepTrial | None = None
        self.uncured: Uncured | None = None
        self.plan: SavedPlan | None = None
        self.of_input: dict[int, Found] = {}  # by the `id` of a loop
        self._bound = Binding()  # what a plan for the step that is tried rests on
        self._measuring_s = 0.0
        self._why_not_input = ""
        self._over = False  # the script has come to its end

    # ------------------------------------------------------------------- it is warm

    def warm(self, loop: Any) -> str:
        """Begin what can be done; why nothing can, where that is so."""
        if loop.strategy is not None:
            return "its step runs under a strategy"
        if not loop.eager:
            return self._cure_input_of_function(loop)
        if loop.step_code is None:
            self.not_here(loop, _INLINE)
            return f"{_INLINE}. To try it in a hidden run first: {_REHEARSE}"
        if not self._pays(loop):
            return "what is left of the training is too short to repay trying its step"
        from feedline.session.live.step_trial import StepTrial

        self._bound = self._read(loop)
        try:
            self.trial = StepTrial(
                loop, self.runner.watch, self.runner.allowed, self._done
            )
        except CannotRun as reason:
            return f"its step cannot run as a graph: {reason}"
        self.trial.lost = self.runner.planned.step_lost
        self.runner.say(
            f"training found at {loop.place}; trying its step as a graph on its own "
            "steps"
        )
        return ""

    def _read(self, loop: Any) -> Binding:
        """While it is there: the script may drop it."""
        from feedline.job.loops.facts import write_down

        with self.runner.watch.pause():
            write_down(loop)
            pipeline = self.runner.pipeline_of(loop.source)
            if pipeline is None:
                return Binding()
            return self.runner.bound_at_start(loop, pipeline)

    def _pays(self, loop: Any) -> bool:
        step_s = median(loop.periods) if loop.periods else 0.0
        return trial_pays(left_s(loop), step_s, given=self.runner.order.given)

    def not_here(self, loop: Any, why: str) -> None:
        """Only a rehearsal could find out what helps it."""
        step_s = median(loop.periods) if loop.periods else 0.0
        sampler = self.runner.sampler
        self.uncured = Uncured(
            where=str(loop.where),
            why=why,
            step_ms=1e3 * step_s,
            training_s=training_s(loop),
            starting_s=sampler.import_s + sampler.prepare_s,
        )

    # ------------------------------------------------------------ the step was tried

    def _done(self, trial: StepTrial) -> None:
        """The step was turned on as a graph, or is as it was. Whatever fails here
        costs the report."""
        try:
            self._write_down(trial)
        except Exception:
            log.info("a live trial could not be written down", exc_info=True)

    def _write_down(self, trial: StepTrial) -> None:
        from feedline.session.live.step_found import found_by

        runner, loop = self.runner, trial.loop
        with runner.watch.pause():
            found = found_by(trial, runner.watch, loop.read_as)
        if found is None:
            why = f"its step is unchanged: {trial.why_not or 'it was not timed'}"
            runner.in_passing.why[id(loop)] = why
            runner.say(f"the training at {loop.place} runs without fixes: {why}")
            return
        runner.say(_said(trial, over=self._over))
        self._publish(loop, found, self._bound)
        if not trial.on or self._over or not trial.waits():
            return
        with runner.watch.pause():
            pipeline = runner.pipeline_of(loop.source)
        if pipeline is not None:
            step = trial.as_step()
            also = self._cure_input(loop, pipeline, step, trial.batch_size)
            if also is not None:
                self._publish(loop, joined(found, also), self._bound)

    def _publish(self, loop: Any, found: Found, now: Binding) -> None:
        """To the report, and as a plan."""
        job, measured, cured = found
        with self.runner.watch.pause():
            plan: SavedPlan | None = None
            if job.pipeline is not None:
                plan = plan_for(loop, now, job.pipeline, cured)
            self.runner.found_live(loop, job, measured, cured, plan)

    # -------------------------------------------------------------------- its input

    def _cure_input_of_function(self, loop: Any) -> str:
        """Of a loop whose step is a graph already."""
        from feedline.session.live.input_trial import function_step, waits

        runner, no_need = self.runner, "its step is a graph already"
        if loop.bare() is not None and median(loop.periods or [1.0]) < _SHORT_STEP_S:
            self.not_here(loop, "several of its steps might go in one launch")
        with runner.watch.pause():
            pipeline = runner.pipeline_of(loop.source)
            last, loop.last_call = loop.last_call, None
            if pipeline is None or not pipeline.rereadable:
                return "its data cannot be read twice"
            if not waits(loop):
                return f"{no_need}, and it hardly waits for its input"
            loop.last_call = last
            try:
                step = function_step(loop)
            except (CannotRun, FeedlineError) as reason:
                return f"measuring it here could change its result, because {reason}"
            finally:
                loop.last_call = None
        found = self._cure_input(loop, pipeline, step, None)
        if found is None:
            return f"{no_need}, and {self._why_not_input}"
        job, measured, cured = found
        job = replace(job, pipeline=without_handles(pipeline))
        found = job, measured, cured
        self.of_input[id(loop)] = found
        now = runner.bound_at_start(loop, pipeline)
        self._publish(loop, runner.shapes.joined(loop, found), now)
        return ""

    def _cure_input(
        self, loop: Any, pipeline: Pipeline, step: Step, batch_size: int | None
    ) -> Found | None:
        """None where nothing could be tried."""
        from feedline.session.live.input_trial import InputTrial

        runner, clock = self.runner, self.runner.watch.clock
        left = left_s(loop)
        if loop.epochs is not None and loop.passes >= loop.epochs:
            self._why_not_input = "this is its last pass over the data"
            return None
        begin = clock.now()
        try:
            budget = Budget(runner.order.seconds, runner.order.given)
            seconds = budget.for_training(left)
            runner.say(f"trying fixes of its input, at most {seconds:.3g} s")
            found = InputTrial(
                loop,
                runner.watch,
                step,
                pipeline,
                runner.allowed,
                seconds,
                None if runner.order.given else left,
                batch_size,
                runner.say,
            ).search()
        except (TooShort, CannotRun, CannotFix, FeedlineError) as reason:
            self._why_not_input = str(reason)
            return None
        except Exception as error:
            log.info("the input could not be tried", exc_info=True)
            self._why_not_input = f"{type(error).__name__}: {error}"
            return None
        finally:
            self._measuring_s += clock.now() - begin
        names = ", ".join(edit.fix for edit in found[2].edits)
        if names:
            now = without_step(runner.bound_at_start(loop, pipeline))
            self.plan = plan_for(loop, now, pipeline, found[2])
            runner.say(f"applying {names} from the next pass over the data on")
        else:
            runner.say("no allowed fix made its input faster")
        return found

    # --------------------------------------------------------------------- its end

    def ended(self) -> None:
        self._over = True
        if self.trial is not None:
            self.trial.finish()

    @property
    def on(self) -> bool:
        return self.trial is not None and self.trial.on

    @property
    def cost_s(self) -> float:
        tried = 0.0 if self.trial is None else self.trial.cost_s
        return tried + self._measuring_s

    def trained(self) -> tuple[int, float]:
        """The steps that were a graph since it was left on, and their seconds."""
        if self.trial is None:
            return 0, 0.0
        return self.trial.steps, self.trial.seconds


def _said(trial: StepTrial, *, over: bool) -> str:
    assert trial.faster is not None
    gain = trial.faster.gain
    times = f"{gain.value:.2g} x as fast ({gain.low:.2g} to {gain.high:.2g})"
    if trial.on:
        same = "bit for bit" if trial.equal else "but for rounding"
        ran = "ran as a graph in turns" if over else "runs as a graph from here on"
        return (
            f"the step {ran}: {times}, the same {same} in {len(trial.compared)} steps "
            "compared"
        )
    if trial.faster.proved:
        return f"the step runs unchanged; as a graph it is {times}, but {trial.why_not}"
    return f"the step runs unchanged: as a graph it is {trial.why_not}"
