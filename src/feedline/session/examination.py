"""What becomes of a script in its process: it is run, the loop that the watch catches
is measured, the outcome is sent, and the script is stopped.

That is `feedline why`. `run/` makes of it what `feedline run` needs, and
`rehearsal/rehearse.py` what a rehearsal does.
"""

from __future__ import annotations

import logging
import os
import signal
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from msgspec import structs

from feedline import __version__
from feedline.errors import FeedlineError, one_sentence
from feedline.fixes.means.own_step.hoist import Hoist, rewriting
from feedline.fixes.means.own_step.maker import OwnSteps
from feedline.job.job import Job
from feedline.job.loops.loop import Experiment, InputFailed, LoopEnded, drive
from feedline.job.script import run as script
from feedline.job.script.watch import ScriptStopped, Watch
from feedline.measure.clock import SystemClock
from feedline.measure.measurement import Measurement, RunTimes
from feedline.measure.run import RunSampler
from feedline.process import threads
from feedline.process.channel import Channel
from feedline.process.voice import Voice
from feedline.prove.proof import Cured
from feedline.report.basis import Basis
from feedline.session.messages import Order, Outcome, encode
from feedline.session.seen import seen_by, until_stalled

log = logging.getLogger(__name__)

_GRACE_SECONDS = 20.0
_PATIENCE_SECONDS = 20.0
_VALIDATING = 0.1  # of the time for measuring


class Examination:
    """What happens when a loop is warm, and what comes of it."""

    stops = True
    """Is the script stopped once the outcome is known?"""

    def __init__(self, order: Order, channel: Channel, voice: Voice) -> None:
        self.order = order
        self.seconds = order.seconds
        self.say = voice.say
        self.clock = SystemClock()
        self.began = self.clock.now()
        self.watch = Watch(
            self.clock,
            self.on_warm,
            loop=order.loop,
            patient=order.patient,
            steps=OwnSteps(),
        )
        self.sampler = RunSampler(SystemClock(), self.watch)
        self.outcome: Outcome | None = None
        self._channel = channel
        self._process = os.getpid()

    def run(self) -> int:
        self.sampler.pause_at_forks()
        self.sampler.start()
        self.guard()
        try:
            code = script.run(
                list(self.order.target),
                module=self.order.module,
                watch=self.watch,
                rewrite=rewriting(self.hoists()),
                stops=self.stops,
                begin=self.begin,
                failed=self.script_failed,
            )
        except FeedlineError as error:
            self._conclude(Outcome(refused=str(error), exit_code=error.exit_code))
            return error.exit_code
        finally:
            self.sampler.stop()
        if os.getpid() == self._process:  # else a fork of the script came to its end
            self.ended(code)
        return code

    def begin(self) -> None:
        """The script's first line comes next; a signal that came before comes now."""
        unblock(self.order)

    def script_failed(self, error: BaseException) -> None:
        """The script ends with an error of its own."""

    def hoists(self) -> Hoist:
        """Of which loops are the steps made functions?"""
        return False

    def guard(self) -> None:
        threads.start(self._watch_over)

    def ended(self, code: int) -> None:
        """The script is over, by itself or because it was stopped."""
        if code == 0 and not self.outcome:
            with suppress(ScriptStopped):
                for loop in self.watch.loops:
                    loop.close()
            if not self.outcome:
                broken = self.watch.broken
                self._conclude(
                    Outcome(failed=broken) if broken else seen_by(self.watch)
                )

    def on_warm(self, loop: Any) -> None:
        """Measure, and stop the script when that is done."""
        from feedline.measure.examine import Examiner

        def experiment() -> Experiment[None]:
            examiner = Examiner(
                loop, self.watch, self.clock, self.order.seconds, say=self.say
            )
            job, measured = yield from examiner.examine()
            measured = self._with_validation(loop, measured)
            self._conclude(Outcome(basis=self.basis(loop, job, measured)))
            # A profiler is deep in the driver: what is known is safe already.
            measured = yield from examiner.capture(measured)
            self._conclude(Outcome(basis=self.basis(loop, job, measured)))

        self._limit(3 * self.order.seconds + 60, self._overdue)
        self._measure(loop, experiment())

    def _with_validation(self, loop: Any, measured: Measurement) -> Measurement:
        """And what the fit will spend on its validation."""
        if loop.kind != "fit" or loop.validation is None:
            return measured
        from feedline.session.validation.trial import examine

        self.say("timing the validation")
        try:
            found = examine(loop, _VALIDATING * self.order.seconds)
        except Exception as error:
            log.info("the validation could not be measured", exc_info=True)
            reason = f"what its validation costs: {one_sentence(error)}"
            return replace(measured, unknown=(*measured.unknown, reason))
        return replace(measured, validation=found)

    def _measure(self, loop: Any, experiment: Experiment[None]) -> None:
        """Drive the experiment on the loop, then stop the script."""
        self.sampler.stop()
        self.say_measuring(loop, self.seconds)
        guarded = self._guarded_experiment(loop, experiment)
        if loop.kind == "loop":
            loop.start(guarded, finish=self._stop)
            return
        drive(guarded, loop.execute)
        self._stop(None)

    def say_measuring(self, loop: Any, seconds: float) -> None:
        self.say(f"training found at {loop.place}; measuring, at most {seconds:.3g} s")

    def _guarded_experiment(
        self, loop: Any, experiment: Experiment[None]
    ) -> Experiment[None]:
        try:
            yield from experiment
        except InputFailed:
            raise
        except LoopEnded as ended:
            self.too_short(f"training at {loop.place} is too short to measure: {ended}")
        except Exception as error:
            self.broke(error)

    def too_short(self, what: str) -> None:
        self._conclude(Outcome(seen=(what,)))

    def broke(self, error: Exception) -> None:  # noqa: ARG002
        """feedline failed while it measured."""
        self._conclude(Outcome(failed=traceback.format_exc()))

    def _stop(self, _: Any) -> None:
        self._limit(_GRACE_SECONDS, lambda: None)
        self.watch.stopped = True
        raise ScriptStopped

    def basis(
        self, loop: Any, job: Job, measured: Measurement, cured: Cured | None = None
    ) -> Basis:
        """What the parent judges."""
        return Basis.of(
            job,
            replace(measured, run=self._run_times(loop, job, measured)),
            cured,
            script=self.order.target[0],
            seconds=self.clock.now() - self.began,
            version=__version__,
        )

    def _run_times(self, loop: Any, job: Job, measured: Measurement) -> RunTimes:
        step_s = measured.step.observed.value / 1e3
        sampler = self.sampler
        first = max(0.0, loop.first_step_seconds - loop.first_step_tracing - step_s)
        total, epoch = job.total_steps, job.steps_per_epoch
        return RunTimes(
            import_s=sampler.import_s,
            prepare_s=sampler.prepare_s,
            trace_s=loop.traced_before + first,
            train_s=None if total is None else total * step_s,
            epoch_s=None if epoch is None else epoch * step_s,
            slowest_lines=sampler.slowest(),
        )

    def _conclude(self, outcome: Outcome) -> None:
        """This is the outcome, unless a later one follows."""
        self.outcome = outcome
        self.send(outcome)

    def send(self, outcome: Outcome) -> None:
        """What cannot be sent is lost, and the script goes on. A measurement that
        cannot be written is a fault of ours, and said as one."""
        try:
            data = encode(outcome)
        except Exception:
            failed = outcome.failed or traceback.format_exc()
            data = encode(structs.replace(outcome, basis=None, failed=failed))
        with suppress(OSError, ValueError):
            self._channel.put(data)

    def _overdue(self) -> None:
        if not self._concluded():
            self._conclude(Outcome(failed="measuring did not finish in time"))

    def _concluded(self) -> bool:
        """The script may have left the loop that was being measured and do
        something else, or nothing; then what is known must do."""
        loop = self.watch.measured
        if loop is not None and not self.outcome:
            try:
                loop.close()
            except BaseException:  # a step is still running
                log.info("cannot conclude", exc_info=True)
        return bool(self.outcome)

    def _limit(self, seconds: float, then: Callable[[], None]) -> None:
        """If the script (or we) go on for longer, end the process."""

        def end() -> None:
            then()
            self.leave_at_once()

        threads.after(seconds, end)

    def leave_at_once(self) -> None:
        """Not even `atexit` may take for ever."""
        threads.after(2.0, lambda: os._exit(0))
        script.leave_at_once(0)

    def stuck(self, what: str, seconds: float) -> None:
        if not self._concluded():
            self._conclude(
                Outcome(
                    refused=f"{what} has made no progress for {seconds:.0f} s and uses "
                    "no CPU: its input seems to wait for data that does not arrive (a "
                    "pipe, a queue, a server). To wait longer, give a larger --seconds."
                )
            )
        self.leave_at_once()

    def _watch_over(self) -> None:
        patience = max(_PATIENCE_SECONDS, self.order.seconds)
        self.stuck(*until_stalled(self.clock, self.watch, patience))


def unblock(order: Order) -> None:
    """Signals that came before the script begins come now."""
    if order.unblocked is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, order.unblocked)
