"""What all kinds of loops have in common."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import Any, TypeVar

from feedline.job.loops.devices import accelerator, quiesce
from feedline.job.loops.feeds import Live, Ring, batch_size
from feedline.job.loops.loop import CannotRun, Clock, InputFailed, LoopEnded, Ran, Run
from feedline.job.loops.theirs import Theirs, rest
from feedline.job.private import tensorflow as tf_private
from feedline.job.tfdata.pipeline import Where

log = logging.getLogger(__name__)

_SETTLE_SECONDS = 0.2
_SETTLING = 5.0  # a request for short runs settles shortly: a fifth of its seconds

T = TypeVar("T")


@dataclass(frozen=True)
class Variant:
    """What a loop reads and calls: its own, or a changed copy to compare with."""

    source: Any
    dataset: Any
    live: Live | None
    call: Callable[[Any], Any] | None = None
    steps_per_call: int = 1
    as_graph: bool = False
    """The script's own step runs as a graph."""
    fused: bool = False
    """That graph is compiled by XLA."""


class Loop:
    """What the kinds have in common: where it stands, what it reads, what the
    watch saw of it, and the feeds."""

    kind: str = "loop"
    resting = False
    """Is no pass over its input under way?"""

    dataset = Theirs()
    source = Theirs()
    model = Theirs()
    strategy = Theirs()
    step_function = Theirs()

    def __init__(self, where: Where | None, clock: Clock) -> None:
        self.where = where
        self.clock = clock
        self.read_as: Any = None  # the pipeline as plain data, for when it is gone
        self.last_call: Any = None  # what that was called with, until it is warm
        # The code of the loop's body, and of the function of the user's in it that
        # takes the gradients, where Python runs it.
        self.body: CodeType | None = None
        self.step_code: CodeType | None = None
        self.epochs: int | None = None
        self.steps_per_epoch: int | None = None
        self.restarts = True
        self.steps_per_call = 1
        self.callbacks: tuple[str, ...] = ()
        self.acts_early = False  # the user's callbacks, before the first step
        self.validation: Any = (
            None  # of a fit: what it was told (`script/validated.py`)
        )
        self.eager = False
        self.live: Live | None = None
        self.tracing_seconds: Callable[[], float] = lambda: 0.0
        # What the watch notes while the job runs by itself.
        self.training = False
        self.trains_now = False  # in this pass over its input
        self.idle = False  # enough of it has been seen
        self.passes = 0
        self.batches = 0  # in this pass
        self.once = False  # a generator given to fit
        self.steps = 0
        self.launched = 1  # steps that the last batch stands for
        self.pace: Any = None  # of a fit with fixes: see pace.py
        self.together: Any = None  # where several of the job's own go in one launch
        self.began: float | None = None
        self.warm_at: float | None = None
        self.periods: list[float] = []
        self.inside: list[float] = []
        self.waits: list[float] = []  # of those periods, for the batch
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
        self._last_live = True  # the job itself was reading until now
        self._restless = False
        self.settle_until = 0.0
        self.call: Any = None  # a step that feedline can call, where there is one
        self._own: Variant | None = None

    @property
    def place(self) -> str:
        """Its line, as it is told."""
        return str(self.where) if self.where is not None else "an unknown line"

    # The watch's notes -----------------------------------------------------

    def reads(self, dataset: Any, iterator: Any, *, of_script: bool = False) -> None:
        """A pass over the input begins; it is over when the iterator has gone, where
        that is one of the script's own."""
        self.resting = False
        self.dataset = dataset
        self.source = tf_private.original_dataset.get(dataset, dataset)
        self.strategy = tf_private.strategy.get(dataset, self.strategy)
        if self.live is None:
            self.live = Live(dataset, None, self.clock)
        self.live.go_on(dataset, iterator, self.rest if of_script else None)
        self.passes += 1
        self.batches = 0
        self.trains_now = self.idle = False
        self.opened = None

    def keep_to_its_passes(self) -> None:
        """A source that may not be read twice is read only as often as the job
        itself would: once for each of its epochs."""
        if self.live is None:
            return
        if self.once:
            self.live.renewals = 0
        elif not self.rereadable():
            self.live.renewals = max(0, (self.epochs or 1) - self.passes)

    def rereadable(self) -> bool:
        from feedline.job.tfdata.read import read

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

    def rest(self) -> None:
        """A pass over its input is over, perhaps the last one: what is the script's
        is not held any longer."""
        rest(self)
        self.last_call = self._ring = self._own = None
        self._rings = {}
        if self.live is not None:
            self.live.rest()

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

    # Variants ----------------------------------------------------------------

    def offer(
        self,
        source: Any,
        call: Callable[[Any], Any] | None = None,
        steps_per_call: int | None = None,
    ) -> Variant:
        """This loop over another dataset, or with another step."""
        dataset = source
        if self.strategy is not None:
            dataset = self.strategy.experimental_distribute_dataset(source)
        live = Live(dataset, None, self.clock)
        live.element_spec = source.element_spec if dataset is source else None
        if self.live is not None:
            live.long_start_s = self.live.long_start_s
        return Variant(
            source,
            dataset,
            live,
            call if call is not None else self.call,
            self.steps_per_call if steps_per_call is None else steps_per_call,
        )

    def use(self, variant: Variant | None) -> None:
        """From now on requests are answered with this variant; None is the job's
        own. What the one before was reading is let go."""
        if self._own is None:
            self._own = Variant(
                self.source, self.dataset, self.live, self.call, self.steps_per_call
            )
        chosen = variant if variant is not None else self._own
        if self.live is not None and self.live is not chosen.live:
            self.live.release()
            quiesce(self.clock)
        self.source, self.dataset, self.live = (
            chosen.source,
            chosen.dataset,
            chosen.live,
        )
        self.call, self.steps_per_call = chosen.call, chosen.steps_per_call

    # Requests that every loop answers alike ------------------------------------

    def _without_steps(self, run: Run) -> Ran | None:
        """Answer a request that needs no training step, or None."""
        if run.feed == "pull":
            live = self._live()
            self._go_live(live)
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
            self._last_live = True
            return Ran(live.starts[-1], 1)
        return None

    def _late(self, run: Run, steps: int, begin: float) -> bool:
        return steps >= 2 and self.clock.now() - begin > run.seconds

    def _settle(self, run: Run) -> None:
        """Before fed steps let the pipeline's threads come to rest; before live
        ones take away what they prepared meanwhile. `settle_until` is when the
        steps may be timed."""
        self.settle_until = self.clock.now()
        if run.feed == "live":
            if self._go_live(self._live()):
                settling = min(_SETTLE_SECONDS, run.seconds / _SETTLING)
                self.settle_until = self.clock.now() + settling
        elif run.feed in ("host", "device"):
            if self._last_live and not self._restless:
                self._live().release()
                self._restless = not quiesce(self.clock)
            self._last_live = False

    def _go_live(self, live: Live) -> bool:
        """Read from the job's own input again; True if it started anew."""
        started = live.iterator is None
        if started:
            live.renew()
        elif not self._last_live:
            live.drain()
        self._last_live = True
        return started


def refusable(step: Callable[..., T]) -> Callable[..., T]:
    """A step may not take what we feed it; that is no fault of the script's."""

    def refusing(*args: Any) -> T:
        try:
            return step(*args)
        except (CannotRun, LoopEnded, InputFailed):
            raise
        except Exception as error:
            raise CannotRun(f"{type(error).__name__}: {error}") from error

    return refusing
