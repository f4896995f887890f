"""The kinds of training loops, each able to answer the requests of `loop.py`.

`CallLoop`   feedline can call the step itself: `Model.fit`'s train function, or
             a `tf.function` that is handed an iterator
`PythonLoop` the user's Python loop asks us for each batch
`FunctionLoop` the whole loop runs inside one `tf.function`

They are made and told what happens by `watch.py`. They measure nothing but the
time that a request took.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from feedline.job.feeds import Live, Ring, batch_size
from feedline.job.loop import (
    CannotRun,
    Clock,
    Experiment,
    InputFailed,
    LoopEnded,
    Ran,
    Run,
)
from feedline.job.pipeline import Where

log = logging.getLogger(__name__)


class Loop:
    """What the kinds have in common: where it stands, what it reads, what the
    watch saw of it, and the feeds."""

    kind: str = "loop"

    def __init__(self, where: Where | None, clock: Clock) -> None:
        self.where = where
        self.clock = clock
        self.dataset: Any = None
        self.source: Any = None
        self.model: Any = None
        self.strategy: Any = None
        self.step_function: Any = None
        self.epochs: int | None = None
        self.steps_per_epoch: int | None = None
        self.restarts = True
        self.steps_per_call = 1
        self.callbacks: tuple[str, ...] = ()
        self.eager = False
        self.live: Live | None = None
        self.tracing_seconds: Callable[[], float] = lambda: 0.0
        # What the watch notes while the job runs by itself.
        self.training = False
        self.trains_now = False  # in this pass over its input
        self.passes = 0
        self.batches = 0  # in this pass
        self.once = self.again = False  # Keras knows of its own sources
        self.steps = 0
        self.began: float | None = None
        self.warm_at: float | None = None
        self.periods: list[float] = []
        self.inside: list[float] = []
        self.first_step_seconds = 0.0
        self.first_step_tracing = 0.0
        self.traced_before = 0.0
        self.opened: float | None = None
        self.fetched = 0.0
        self.inside_now = 0.0
        self.traced_at = 0.0
        self.warm_traces = 0
        self.syncs = 0
        self._ring: Ring | None = None
        self._rings: dict[tuple[str, int | None], Ring] = {}
        self._last_live = False
        self._restless = False

    # The watch's notes -----------------------------------------------------

    def reads(self, dataset: Any, iterator: Any) -> None:
        """A pass over the input begins."""
        self.dataset = dataset
        self.source = getattr(dataset, "_original_dataset", dataset)
        self.strategy = getattr(dataset, "_strategy", self.strategy)
        if self.live is None:
            self.live = Live(dataset, iterator, self.clock)
        else:
            self.live.dataset, self.live.iterator = dataset, iterator
        self.passes += 1
        self.batches = 0
        self.trains_now = False
        self.opened = None

    def keep_to_its_passes(self) -> None:
        """A source that may not be read twice is read only as often as the job
        itself would: once for each of its epochs."""
        if self.live is None:
            return
        if self.once:
            self.live.renewals = 0
        elif not (self.again or self.rereadable()):
            self.live.renewals = max(0, (self.epochs or 1) - self.passes)

    def rereadable(self) -> bool:
        from feedline.job.read import read

        try:
            return read(self.source).rereadable
        except Exception:  # what cannot be understood may be anything
            log.info("the input cannot be read as a pipeline", exc_info=True)
            return False

    def note_step(self, period: float, inside: float) -> None:
        """One step went by: its whole time, and the time inside the step."""
        self.steps += self.steps_per_call
        if self.steps > 2 * self.steps_per_call:
            self.periods.append(period / self.steps_per_call)
            self.inside.append(inside / self.steps_per_call)

    def warm(self, now: float) -> bool:
        """Have the first steps (tracing, allocation) gone by?"""
        if not self.training or self.began is None:
            return False
        calls = self.steps / self.steps_per_call
        seconds = now - (self.warm_at if self.warm_at is not None else now)
        return (calls >= 4 and seconds > 2.0) or (calls >= 24 and seconds > 0.5)

    def close(self) -> None:
        """The script is over."""

    @property
    def fed_by_us(self) -> bool:
        """Does the user's step work on a batch that the job did not choose?"""
        return False

    # Feeds -------------------------------------------------------------------

    def ring(self, run: Run) -> Ring:
        key = (run.feed, run.batch)
        if key not in self._rings:
            if self._ring is None:
                self._ring = Ring.filled_from(self._live().pull, 8)
            ring = self._ring
            if run.batch is not None and run.batch != batch_size(ring.batches[0]):
                ring = ring.resized(run.batch)
            if run.feed == "device":
                ring = ring.on_device(accelerator())
            self._rings[key] = ring
        return self._rings[key]

    def _live(self) -> Live:
        if self.live is None:
            raise CannotRun("the job's input is not at hand")
        return self.live

    def batch_size(self) -> int | None:
        ring = self.ring(Run("host"))
        return batch_size(ring.batches[0])

    # Requests that every loop answers alike ------------------------------------

    def _without_steps(self, run: Run) -> Ran | None:
        """Answer a request that needs no training step, or None."""
        if run.feed == "pull":
            live = self._live()
            if not self._last_live:
                live.drain()
            self._last_live = True
            done, steps = len(live.starts), 0
            begin, cpu = self.clock.now(), self.clock.cpu()
            while steps < run.steps and not self._late(run, steps, begin):
                live.pull()
                steps += 1
            seconds = self.clock.now() - begin - sum(live.starts[done:])
            return Ran(seconds, steps, self.clock.cpu() - cpu)
        if run.feed == "epoch":
            live = self._live()
            live.renew()
            return Ran(live.starts[-1], 1)
        if run.feed == "idle":
            begin = self.clock.now()
            quiesce(self.clock)
            return Ran(self.clock.now() - begin, 0)
        return None

    def _late(self, run: Run, steps: int, begin: float) -> bool:
        return steps >= 2 and self.clock.now() - begin > run.seconds

    def _settle(self, run: Run) -> None:
        """Before fed steps let the pipeline's threads come to rest; before live
        ones take away what they prepared meanwhile."""
        if run.feed == "live":
            if not self._last_live:
                self._live().drain()
            self._last_live = True
        elif run.feed in ("host", "device"):
            if self._last_live and not self._restless:
                self._restless = not quiesce(self.clock)
            self._last_live = False


class CallLoop(Loop):
    """A step that feedline can call: `call(iterator)` trains
    `steps_per_call` steps."""

    def __init__(
        self,
        kind: str,
        where: Where | None,
        clock: Clock,
        call: Callable[[Any], Any],
    ) -> None:
        super().__init__(where, clock)
        self.kind = kind
        self.call = call
        self.takes_batches = kind == "fit"
        self._iterators: dict[tuple[str, int | None], Any] = {}

    def execute(self, run: Run) -> Ran:
        done = self._without_steps(run)
        if done is not None:
            return done
        self._settle(run)
        step = self._stepper(run)
        if run.feed != "live":
            step = _refusable(step)
        step()
        calls = max(1, math.ceil(run.steps / self.steps_per_call))
        starts = len(self.live.starts) if self.live else 0
        tracing = self.tracing_seconds()
        begin, cpu, called = self.clock.now(), self.clock.cpu(), 0
        while called < calls and not self._late(run, called, begin):
            step()
            called += 1
        sync()
        seconds = self.clock.now() - begin
        cpu = self.clock.cpu() - cpu
        if self.live:
            seconds -= sum(self.live.starts[starts:])
        traced = self.tracing_seconds() - tracing
        return Ran(seconds, called * self.steps_per_call, cpu, traced)

    def _stepper(self, run: Run) -> Callable[[], Any]:
        if run.feed == "live":
            return self.live_step
        ring = self.ring(run)
        if run.feed == "device" or (self.strategy is not None and self.takes_batches):
            if not self.takes_batches:
                raise CannotRun("this step takes an iterator, not a batch")
            return lambda: self.call([ring.next() for _ in range(self.steps_per_call)])
        key = (run.feed, run.batch)
        if key not in self._iterators:
            self._iterators[key] = self._ring_iterator(ring)
        iterator = self._iterators[key]
        return lambda: self.call(iterator)

    def _ring_iterator(self, ring: Ring) -> Any:
        live = self._live().iterator
        if isinstance(live, tf.data.Iterator):
            return iter(ring.dataset(live.element_spec))
        whole = [tf.nest.map_structure(joined, batch) for batch in ring.batches]
        dataset = Ring(whole).dataset()
        return iter(self.strategy.experimental_distribute_dataset(dataset))

    def live_step(self) -> None:
        """One step on the job's own input."""
        live = self._live()
        try:
            self.call(live.iterator)
        except (StopIteration, tf.errors.OutOfRangeError):
            live.renew()
            self.call(live.iterator)


class FunctionLoop(Loop):
    """`call(dataset)` runs the loop over it inside one function.

    Starting a pipeline is not part of a step, so the time of a short run is
    taken off that of a longer one.
    """

    kind = "function"
    _SHORT = 2

    def __init__(
        self,
        where: Where | None,
        clock: Clock,
        call: Callable[[Any], Any],
    ) -> None:
        super().__init__(where, clock)
        self.call = call

    def execute(self, run: Run) -> Ran:
        done = self._without_steps(run)
        if done is not None:
            return done
        if run.feed == "device":
            raise CannotRun("a loop inside a function is fed by a dataset only")
        source, longest = self.source, self._batches()
        if run.feed == "host":
            source = self.ring(run).dataset(self.source.element_spec)
            longest = run.steps + self._SHORT
        quiesce(self.clock)
        steps, seconds, cpu_seconds = 0, 0.0, 0.0
        while steps < run.steps:
            more = min(run.steps - steps, longest - self._SHORT)
            short, _ = self._timed(source, self._SHORT)
            long, cpu = self._timed(source, self._SHORT + more)
            steps += more
            seconds += max(long - short, 0.0)
            cpu_seconds += cpu
        return Ran(max(seconds, 1e-6), steps, cpu_seconds)

    def _batches(self) -> int:
        """How many batches one run over the dataset has at the most."""
        number = int(self.source.cardinality())
        if 0 <= number <= self._SHORT:
            raise CannotRun(f"the dataset has only {number} batches")
        return number if number > 0 else 10**9

    def _timed(self, source: Any, steps: int) -> tuple[float, float]:
        part = source.take(steps)
        if self.strategy is not None:
            part = self.strategy.experimental_distribute_dataset(part)
        begin, cpu = self.clock.now(), self.clock.cpu()
        self.call(part)
        sync()
        return self.clock.now() - begin, self.clock.cpu() - cpu


class PythonLoop(Loop):
    """The user's own `for batch in dataset`.

    Requests are answered as the user's body runs: `next_batch` is called when
    the body wants its next batch, which is also the moment when the step before
    it has ended.
    """

    kind = "loop"

    def __init__(self, where: Where | None, clock: Clock) -> None:
        super().__init__(where, clock)
        self._experiment: Experiment[Any] | None = None
        self._finish: Callable[[Any], None] = lambda _: None
        self._run: Run | None = None
        self._left = 0
        self._begin = self._cpu = self._tracing = 0.0
        self._starts = 0

    @property
    def measuring(self) -> bool:
        return self._experiment is not None

    def start(self, experiment: Experiment[Any], finish: Callable[[Any], None]) -> None:
        self._experiment, self._finish = experiment, finish
        self._advance(None)

    @property
    def fed_by_us(self) -> bool:
        return self.measuring and self._run is not None and self._run.feed != "live"

    def close(self) -> None:
        """The script is over while we were measuring: what is known must do."""
        while self._experiment is not None:
            self._advance(LoopEnded("the loop ended"))

    def next_batch(self) -> Any:
        """The batch for the user's next step, as the request asks."""
        while self._experiment is not None:
            assert self._run is not None
            done = self._run.steps - self._left
            if self._left == 0 or self._late(self._run, done, self._begin):
                self._advance(self._answer(done))
                continue
            if done == 0:
                self._mark()
            self._left -= 1
            try:
                return self._fetch()
            except (CannotRun, LoopEnded) as refusal:
                self._advance(refusal)
        raise LoopEnded("nothing more to measure")

    def _fetch(self) -> Any:
        assert self._run is not None
        if self._run.feed == "live":
            return self._live().pull()
        return self.ring(self._run).next()

    def _mark(self) -> None:
        """The measured steps begin now (one went before to settle in)."""
        sync()
        self._starts = len(self._live().starts)
        self._tracing = self.tracing_seconds()
        self._begin, self._cpu = self.clock.now(), self.clock.cpu()

    def _answer(self, steps: int) -> Ran:
        sync()
        seconds = self.clock.now() - self._begin
        seconds -= sum(self._live().starts[self._starts :])
        traced = self.tracing_seconds() - self._tracing
        return Ran(seconds, steps, self.clock.cpu() - self._cpu, traced)

    def _advance(self, answer: Ran | Exception | None) -> None:
        """Give the experiment its answer, and answer at once whatever needs no
        step of the user's, until it asks for steps or is done."""
        experiment = self._experiment
        assert experiment is not None
        try:
            while True:
                if isinstance(answer, Exception):
                    run = experiment.throw(answer)
                elif answer is None:
                    run = next(experiment)
                else:
                    run = experiment.send(answer)
                try:
                    answer = self._without_steps(run)
                    if answer is not None:
                        continue
                    self._settle(run)
                    if run.feed != "live":
                        self.ring(run)
                except (CannotRun, LoopEnded) as refusal:
                    answer = refusal
                    continue
                self._run, self._left = run, run.steps + 1
                return
        except StopIteration as end:
            self._experiment = None
            self._finish(end.value)


def quiesce(clock: Clock, *, seconds: float = 1.0) -> bool:
    """Wait until the process uses hardly any CPU; False if it does not come to
    rest in time."""
    until = clock.now() + seconds
    while clock.now() < until:
        before = clock.cpu()
        clock.sleep(0.02)
        if clock.cpu() - before < 0.005:
            return True
    return False


def _refusable(step: Callable[[], Any]) -> Callable[[], Any]:
    """A step may not take what we feed it; that is no fault of the script's."""

    def refusing() -> None:
        try:
            step()
        except (CannotRun, LoopEnded, InputFailed):
            raise
        except Exception as error:
            raise CannotRun(f"{type(error).__name__}: {error}") from error

    return refusing


def accelerator() -> str:
    devices = tf.config.list_logical_devices()
    for device in devices:
        if device.device_type not in ("CPU", "TPU_SYSTEM"):
            return str(device.name)
    raise CannotRun("there is no device but the host")


def sync() -> None:
    """Wait for what was launched on accelerators."""
    if tf.config.list_logical_devices("GPU"):
        tf.test.experimental.sync_devices()


def joined(value: Any) -> Any:
    parts = getattr(value, "values", None)
    if isinstance(value, tf.distribute.DistributedValues) and parts:
        return tf.concat(parts, axis=0)
    return value
