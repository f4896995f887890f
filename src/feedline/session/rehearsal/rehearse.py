"""What a rehearsal does with the script: runs it until its training is warm, finds out
what would make it faster, and ends.

It ends sooner, with nothing lost, where the training can be measured in the run itself,
where no fix can be expected, and where the script is about to leave a trace. With
`feedline run --rehearse` (or `--dry-run`) it measures whatever trains, may write, and
stops the script as Ctrl-C would.
"""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import suppress
from statistics import median
from typing import Any, NoReturn

from msgspec import structs

from feedline.errors import one_sentence
from feedline.fixes.means.own_step.hoist import Hoist
from feedline.job.loops.loop import CannotRun, Experiment
from feedline.job.script.watch import ScriptStopped
from feedline.job.tfdata.pipeline import Pipeline
from feedline.process import threads
from feedline.process.channel import Channel
from feedline.process.voice import Voice
from feedline.session.live.training_time import training_s
from feedline.session.messages import Order, Outcome
from feedline.session.plans.plan import plan_for
from feedline.session.rehearsal import landlock, native
from feedline.session.rehearsal.seal import Seal
from feedline.session.run.fits import why_not_here
from feedline.session.run.runner import Runner, said
from feedline.session.seen import seen_by
from feedline.session.worth import Budget, TooShort

_LEAST_PREPARING_S = 120.0
_WAITING = 0.05
_LONG_STEP_S = 0.02


class Rehearsal(Runner):
    """`order.scratch` seals it; `order.everything` measures any training."""

    stops = True

    def __init__(self, order: Order, channel: Channel, voice: Voice) -> None:
        super().__init__(structs.replace(order, live=False), channel, voice)
        self.sealed = order.scratch is not None
        self._error = ""
        self._training_s: float | None = None
        if order.scratch is not None:
            sys.dont_write_bytecode = True
            landlock.restrict(order.scratch)

    def hoists(self) -> Hoist:
        return True

    def begin(self) -> None:
        if self.order.scratch is not None:
            seal = Seal(self.order.scratch, self._leaves_a_trace)
            native.install(seal)
            seal.close()
        super().begin()

    def guard(self) -> None:
        if self.sealed:
            preparing = max(_LEAST_PREPARING_S, 2 * self.order.seconds)
            threads.after(preparing, lambda: self._too_late(preparing))
            threads.start(self._watch_over)

    # ------------------------------------------------------------------ its end

    def _leaves_a_trace(self, what: str) -> NoReturn:
        self.end(f"{what} before or during its first steps")

    def _too_late(self, seconds: float) -> None:
        if self.watch.measured is None and self.outcome is None:
            self.end(f"no training began within {seconds:.0f} s")

    def stuck(self, what: str, seconds: float) -> None:
        self.end(f"{what} has made no progress for {seconds:.0f} s")

    def end(self, why_not: str = "") -> NoReturn:
        """At once: nothing of the script's runs any more."""
        self.send(Outcome(rehearsed=True, why_not=why_not, loops=1))
        os._exit(0)

    def leave_at_once(self) -> None:
        if self.sealed:
            os._exit(0)
        super().leave_at_once()

    def _stop(self, _: Any) -> None:
        if self.sealed:
            os._exit(0)
        super()._stop(None)

    def _overdue(self) -> None:
        if self.outcome is None:
            self._found_nothing("measuring did not finish in time")

    def script_failed(self, error: BaseException) -> None:
        self._error = f"it failed: {type(error).__name__}: {one_sentence(error)}"

    def ended(self, code: int) -> None:
        """By itself, or because it was stopped."""
        if self.outcome is None:
            with suppress(ScriptStopped):
                for loop in self.watch.loops:
                    loop.close()
        if self.outcome is None:
            broken = one_sentence(self.watch.broken.strip().rpartition("\n")[2])
            why_not = self._error or broken or (f"exit code {code}" if code else "")
            self._conclude(
                structs.replace(
                    seen_by(self.watch),
                    rehearsed=bool(self.watch.loops) or self.sealed or code != 0,
                    why_not=why_not or "it ended before its training could be measured",
                )
            )
        if self.sealed:
            os._exit(0)  # what it registered to run at its end would leave a trace

    def failed(self, error: Exception) -> None:
        self._found_nothing(said(error))
        self._stop(None)

    def _found_nothing(self, why_not: str, failed: str = "") -> None:
        self._conclude(Outcome(rehearsed=True, why_not=why_not, failed=failed, loops=1))

    # ------------------------------------------------------------ what is trained

    def before_fit(self, loop: Any, epochs: Any) -> None:  # noqa: ARG002
        """Could it be measured in the run itself? Then this was not needed."""
        import tensorflow as tf

        if not self.is_wanted() or not isinstance(loop.source, tf.data.Dataset):
            return
        with self.watch.pause():
            pipeline = self.pipeline_of(loop.source)
            if pipeline is None:
                return
            if not (self.order.everything or why_not_here(loop, pipeline)):
                self.end()
            self.bound_at_start(loop, pipeline)

    def instead(self, dataset: Any, where: Any) -> Any:  # noqa: ARG002
        return dataset

    def on_warm(self, loop: Any) -> None:
        pipeline = self.pipeline_of(loop.source) if loop.source is not None else None
        if pipeline is None or not pipeline.rereadable:
            self._found_nothing(f"the input of {loop.place} cannot be read twice")
            self._stop(None)
        if not self.order.everything and self._nothing_expected(loop):
            self._found_nothing(
                f"the training at {loop.place} hardly waits for its input and runs as "
                "a graph, so no fix is expected to help"
            )
            self._stop(None)
        assert pipeline is not None
        self._training_s = training_s(loop)
        try:
            budget = Budget(self.order.seconds, self.order.given)
            self.seconds = budget.for_training(self._training_s)
        except TooShort as short:
            self._found_nothing(f"{loop.place}: {short}")
            self._stop(None)
        self.watch.before_fit = self.watch.after_fit = None
        if self.sealed:
            self._limit(3 * self.order.seconds + 60, self._overdue)
        self._measure(loop, self._experiment(loop, pipeline))

    def _nothing_expected(self, loop: Any) -> bool:
        """By what was seen in passing: little waiting, no Python in the step, and so
        long a step that starting it costs nothing."""
        if loop.kind != "loop" or loop.eager or self.allowed != ("exact",):
            return False
        if any(update.sparse for update in self.watch.updates):
            return False
        periods, waits = loop.periods[: len(loop.waits)], loop.waits
        return bool(
            len(periods) >= 4
            and sum(waits) < _WAITING * sum(periods)
            and median(periods) > _LONG_STEP_S
        )

    def too_short(self, what: str) -> None:
        self._found_nothing(f"the {what}")

    def broke(self, error: Exception) -> None:
        self._found_nothing(said(error), traceback.format_exc())

    def _experiment(self, loop: Any, pipeline: Pipeline) -> Experiment[None]:
        from feedline.job.tfdata.owners import reachable
        from feedline.session.experiment import examine_and_search
        from feedline.session.plans.stand_ins import shared

        # Before we make datasets of the same stages.
        used, reached = shared(pipeline), reachable(pipeline)
        now = self.bound_at_start(loop, pipeline)
        if loop.kind == "loop" and loop.eager:
            with suppress(CannotRun):
                loop.own_step().recording = True
        job, measured, cured = yield from examine_and_search(
            loop,
            self.watch,
            self.clock,
            self.seconds,
            self.allowed,
            say=self.say,
            used=used,
            reached=reached,
            training_s=None if self.order.given else self._training_s,
        )
        self._conclude(
            Outcome(
                rehearsed=True,
                plan=plan_for(loop, now, pipeline, cured),
                basis=self.basis(loop, job, measured, cured),
                loops=1,
            )
        )
