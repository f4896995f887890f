"""The process in which the user's script runs under `feedline run`.

Three roads, by what the script turns out to be:

- `Model.fit` on data that can be read twice: just before its first step the job is
  measured and cured on a copy, everything is put back, the proved edits are
  applied, and the script goes on to its end.
- Any other loop, or data made by the user's Python: nobody can put back all that
  such a loop changes. So this run becomes a rehearsal: measured where it stands,
  then stopped; the script is started again from clean with the plan.
- A plan is given (by the rehearsal, or from a file): it is applied, nothing is
  measured.

Whatever fails here costs the fixes, not the script.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from feedline.applied import Applied
from feedline.child import Examination
from feedline.errors import FeedlineError
from feedline.fixes import steps_per_execution
from feedline.fixes.binding import Binding, bound, only_step, without_step
from feedline.fixes.fix import CannotFix, Edit, grades
from feedline.fixes.saved import SavedPlan
from feedline.job.identity.stages import Part
from feedline.job.identity.step import step_of
from feedline.job.loop import CannotRun, Experiment, InputFailed, LoopEnded, drive
from feedline.job.pipeline import Pipeline, Where
from feedline.measure.measurement import Measurement
from feedline.monitor.live import Live

log = logging.getLogger(__name__)

_EXAMINING = 0.5
_OWN_STEP = ("compile-step", "steps-per-execution")


class Runner(Examination):
    """`order["plan"]` is a plan to apply, `order["rehearse"]` says to make one
    and stop; without either it is made and applied on the way."""

    def __init__(self, order: dict[str, Any]) -> None:
        super().__init__(order)
        self.allowed = grades(order["allow"])
        self.given = SavedPlan.from_dict(order["plan"]) if order["plan"] else None
        self.made: SavedPlan | None = None
        self.applied = Applied(self.say)
        self.measuring_s = 0.0
        self._plans: list[SavedPlan] = []
        self._begun: dict[int, Part] = {}  # the steps as they were at the beginning
        self._refused = False
        self._given_up = False
        self.watch.before_fit = self._guarded(self.before_fit)
        self.watch.after_fit = self._guarded(self.applied.fit_is_over)
        self.watch.first_step = self._guarded(self.first_step)
        self.watch.instead = self.instead
        self.live = Live(self.watch, self.say)
        if order.get("live") and not order["rehearse"]:
            self.live.begin()

    def hoists(self) -> bool:
        """Where a step may yet be compiled, or is to be."""
        plan = self.given
        return plan is None or any(e.fix in _OWN_STEP for e in plan.edits)

    def guard(self) -> None:
        """A script that trains to its end may wait as long as it likes."""

    def ended(self, code: int) -> None:  # noqa: ARG002
        self.live.end()
        spared = self.applied.close()
        if spared and "rehearsed" not in self.outcome:
            self.say(spared)
        if not self.outcome:
            self._conclude(self._came_to())

    def _came_to(self) -> dict[str, Any]:
        plan = self.made or self.given
        return {
            "plan": plan.to_dict() if plan else None,
            "applied": bool(self.applied.steps or self.applied.replaces),
            "steps": self.applied.steps,
            "training_s": self.applied.seconds,
            "measuring_s": self.measuring_s,
            "seen": self._seen()["seen"],
            "loops": len(self.watch.loops),
        }

    def _guarded(self, method: Callable[..., None]) -> Callable[..., None]:
        """What fails in us is told in one line; the script goes on."""

        def guarded(*args: Any) -> None:
            try:
                method(*args)
            except Exception as error:
                self._given_up = True
                log.info("failed", exc_info=True)
                text = " ".join(str(error).split())[:300]
                if not isinstance(error, FeedlineError | CannotFix):
                    text = f"{type(error).__name__}: {text}"
                self.say(f"the job goes on unfixed: {text}")

        return guarded

    def say(self, text: str) -> None:
        print(f"feedline: {text}", file=sys.stderr, flush=True)

    # ------------------------------------------------------------------- fit

    def before_fit(self, loop: Any, epochs: Any) -> None:
        """Just before the first step of a fit."""
        import tensorflow as tf

        if not isinstance(loop.source, tf.data.Dataset) or not self._is_wanted():
            return
        if getattr(loop.source, "_feedline_tuned", False):
            return
        with self.watch.pause():
            pipeline = self._pipeline(loop.source)
            if pipeline is None:
                return
            from feedline.job.steps.source import keeps_state

            edits = self._edits_for(loop, pipeline)
            if not edits and self.applied.instead_of(loop.source) is not None:
                # Read with edits before, or made from what was: the shuffles of the
                # script's own dataset stand where they stood then, those of the tuned
                # one went on.
                self.applied.swap(loop, epochs)
                return
            if edits is None:
                if self._needs_rehearsal(pipeline) or (
                    loop.eager and keeps_state(loop.model)
                ):
                    self._bound(loop, pipeline)
                    return  # `on_warm` will see to it
                edits = self._tune(loop, pipeline)
            self.applied.to_fit(loop, epochs, edits)

    def _is_wanted(self) -> bool:
        wanted = self.order["loop"]
        return wanted is None or len(self.watch.loops) + 1 == wanted

    def _pipeline(self, dataset: Any) -> Pipeline | None:
        from feedline.job.read import read

        try:
            return read(dataset).numbered()
        except FeedlineError:
            return None

    def _needs_rehearsal(self, pipeline: Pipeline) -> bool:
        python = any(stage.python and not stage.pure for stage in pipeline.stages())
        return bool(self.order["rehearse"]) or python or not pipeline.rereadable

    def _edits_for(self, loop: Any, pipeline: Pipeline) -> tuple[Edit, ...] | None:
        """The edits that are known for this job; None where it is to be measured."""
        now = bound(pipeline, step_of(loop))
        for plan in self._plans:
            if plan.where == str(loop.where) and _refusal(plan, now) is None:
                return plan.edits
        if self.given is None:
            return None
        if str(loop.where) != self.given.where and self.given.where:
            return ()
        return () if self._refuses(self.given, now) else self.given.edits

    def _refuses(self, plan: SavedPlan, now: Binding) -> bool:
        """Is the job as it is now another than the plan was made for? Said once."""
        reason = _refusal(plan, now)
        if reason is not None and not self._refused:
            self._refused = True
            self.say(f"{reason}. The job goes on unfixed")
        return reason is not None

    def _tune(self, loop: Any, pipeline: Pipeline) -> tuple[Edit, ...]:
        from feedline.job.owners import reachable
        from feedline.job.snapshot import nbytes, variables_of
        from feedline.measure.machine import memory
        from feedline.stand_ins import shared
        from feedline.tuning import examine_and_cure, stages_in_use

        if nbytes(variables_of(loop.model)) > memory()[1] / 4:
            raise FeedlineError("a copy of the model's variables would not fit")
        self.sampler.stop()
        seconds = self.order["seconds"]
        self.say(f"training found at {loop.where}; measuring, at most {seconds:g} s")
        now = bound(pipeline, step_of(loop))
        began = time.perf_counter()
        facts = _facts_of(loop)
        found = examine_and_cure(
            loop.model,
            loop.source,
            self.allowed,
            seconds,
            where=loop.where,
            facts=facts,
            used=stages_in_use(pipeline, list(self.watch.read_already))
            | shared(pipeline),
            reached=reachable(pipeline),
            lines=self.watch.tables,
            say=self.say,
        )
        self.measuring_s += time.perf_counter() - began
        job = replace(found.job, callbacks=loop.callbacks)
        edits = found.cured.edits
        self.made = _plan(
            loop,
            now,
            edits,
            self._told(loop, job, found.measured, found.cured),
            self._places(pipeline, edits, loop),
            found.cured.plan.grades,
        )
        self._plans.append(self.made)
        self._keep()
        self.say(
            "applying " + ", ".join(edit.fix for edit in edits)
            if edits
            else "nothing that is allowed was measured faster; the job is as it was"
        )
        return edits

    def _places(
        self, pipeline: Pipeline, edits: tuple[Edit, ...], loop: Any
    ) -> tuple[dict[str, Any], ...]:
        """Where in the source the edits belong, for `--patch`."""
        from feedline.job.facts import step_where
        from feedline.report.patches.places import places

        own = loop.kind == "loop"
        found = places(pipeline, edits, loop.where, step_where(loop), own=own)
        return tuple(each.to_dict() for each in found)

    def _told(self, loop: Any, job: Any, measured: Measurement, cured: Any) -> Any:
        from feedline import __version__, causes, fixes
        from feedline.report.build import make
        from feedline.report.json import to_json

        measured = replace(measured, run=self._run_times(loop, job, measured))
        report = make(
            job,
            measured,
            causes.diagnose(job, measured),
            {name: cause.title for name, cause in causes.all().items()},
            script=self.order["target"][0],
            version=__version__,
            seconds=self.clock.now() - self.began,
            cured=cured,
            cures={name: fix.title for name, fix in fixes.all().items()},
        )
        return json.loads(to_json(report))

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
            self._given_up = True
            self.say(f"the job goes on unfixed: {error}")
            return dataset

    def _read_for(self, dataset: Any, where: Where | None) -> Any:
        plan, known = self.given, self.applied.instead_of(dataset)
        if known is not None:
            return known
        if plan is None or self.watch.fits.now is not None or str(where) != plan.where:
            return dataset
        if getattr(dataset, "_feedline_tuned", False) or not plan.edits:
            return dataset
        pipeline = self._pipeline(dataset)
        if pipeline is None:
            return dataset
        if self._refuses(
            replace(plan, made_for=without_step(plan.made_for)), bound(pipeline)
        ):
            return dataset
        if any(edit.fix == "steps-per-execution" for edit in plan.edits):
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
        wanted = {edit.fix: edit for edit in plan.edits}
        if "compile-step" in wanted:
            own = loop.own_step()
            own.tell = self._step_lost
            own.fused = "jit-compile" in wanted
            own.on = True
        if "steps-per-execution" in wanted:
            number = int(wanted["steps-per-execution"].args["steps"])
            loop.together = loop.steps_together(number)
            loop.together.tell = self._together_lost

    def _step_lost(self, why: str) -> None:
        """The graph of the step is no longer the same: as an edit of the source it
        would be wrong."""
        self.say(f"the step runs from Python again: {why}")
        if self.given is not None:
            for fix in ("compile-step", "jit-compile"):
                self.given = self.given.without_place(fix)

    def _together_lost(self, why: str) -> None:
        self.say(f"the steps go one by one again: {why}")
        if self.given is not None:
            self.given = self.given.without_place("steps-per-execution")

    def on_warm(self, loop: Any) -> None:
        """A loop that was not cured at its start: rehearse, then stop."""
        if self.given is not None or self.made is not None or self._given_up:
            return
        pipeline = self._pipeline(loop.source) if loop.source is not None else None
        if pipeline is None or not pipeline.rereadable:
            self.say(
                f"the input of the loop at {loop.where} cannot be read twice; the job "
                "goes on unfixed"
            )
            return
        self.sampler.stop()
        seconds = self.order["seconds"]
        self.say(f"training found at {loop.where}; measuring, at most {seconds:g} s")
        self.watch.before_fit = self.watch.after_fit = None

        def experiment() -> Any:
            try:
                yield from self._rehearse(loop, pipeline, seconds)
            except InputFailed:
                raise
            except LoopEnded:
                self._conclude({"rehearsed": self._empty(loop, pipeline)})
            except Exception:
                self._conclude(
                    {
                        "rehearsed": self._empty(loop, pipeline),
                        "failed": traceback.format_exc(),
                    }
                )

        if loop.kind == "loop":
            loop.start(experiment(), finish=self._stop)
            return
        drive(experiment(), loop.execute)
        self._stop(None)

    def _rehearse(
        self, loop: Any, pipeline: Pipeline, seconds: float
    ) -> Experiment[None]:
        from feedline.cure import Cure
        from feedline.measure.examine import Examiner
        from feedline.stand_ins import shared

        used = shared(pipeline)  # before we make datasets of the same stages
        now = self._bound(loop, pipeline)
        if loop.kind == "loop" and loop.eager:
            with suppress(CannotRun):
                loop.own_step().recording = True
        examiner = Examiner(
            loop, self.watch, self.clock, _EXAMINING * seconds, say=self.say
        )
        job, measured = yield from examiner.examine()
        cure = Cure(
            loop,
            self.clock,
            (1 - _EXAMINING) * seconds,
            self.allowed,
            say=self.say,
            used=used,
        )
        cured = yield from cure.search(job, measured)
        told = self._told(loop, job, measured, cured)
        plan = _plan(
            loop,
            now,
            cured.edits,
            told,
            self._places(pipeline, cured.edits, loop),
            cured.plan.grades,
        )
        self._conclude({"rehearsed": plan.to_dict()})

    def _bound(self, loop: Any, pipeline: Pipeline) -> Binding:
        """What a plan for this job rests on: the pipeline as it is, and the step as it
        was when a run with the plan will look at it."""
        if id(loop) not in self._begun:
            self._begun[id(loop)] = step_of(loop)
        return bound(pipeline, self._begun[id(loop)])

    def _empty(self, loop: Any, pipeline: Pipeline) -> dict[str, Any]:
        return _plan(loop, bound(pipeline)).to_dict()

    def _keep(self) -> None:
        """The plan is worth keeping even if the script comes to a bad end."""
        if self.made is not None:
            path = Path(self.order["outcome"]).with_suffix(".plan")
            path.write_text(json.dumps(self.made.to_dict()))


def _plan(loop: Any, now: Binding, *found: Any) -> SavedPlan:
    """A plan for the job as it was before it was measured. One that leaves the step
    alone holds for any step."""
    plan = SavedPlan(str(loop.where), now.pipeline, *found)
    return replace(plan, made_for=now if plan.of_step else without_step(now))


def _refusal(plan: SavedPlan, now: Binding) -> str | None:
    of_step = plan.made_for.of_step
    return plan.made_for.refusal(now if of_step else without_step(now))


def _facts_of(loop: Any) -> Callable[[Any], None]:
    """What the copy of a loop cannot know by itself."""

    def tell(copy: Any) -> None:
        copy.epochs = loop.epochs
        copy.restarts = loop.restarts
        copy.callbacks = loop.callbacks
        copy.steps_per_epoch = loop.steps_per_epoch or copy.steps_per_epoch

    return tell
