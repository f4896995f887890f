"""A step that feedline can call itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import tensorflow as tf

from feedline.job.loops.base import Loop, refusable
from feedline.job.loops.devices import joined, sync
from feedline.job.loops.feeds import Ring
from feedline.job.loops.loop import CannotRun, Clock, LoopEnded, Ran, Run
from feedline.job.tfdata.pipeline import Where


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
        step = refusable(self._stepper)(run)
        if run.feed != "live":
            step = refusable(step)
        step()
        while self.clock.now() < self.settle_until:
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
        steps = called * self.steps_per_call
        if self.live:
            seconds -= sum(self.live.starts[starts:])
            steps -= self._missing() * (len(self.live.starts) - starts)
        traced = self.tracing_seconds() - tracing
        return Ran(seconds, max(1, steps), cpu, traced)

    def rest(self) -> None:
        super().rest()
        self._iterators = {}
        if self.kind == "fit":
            self.call = over
            if self.validation is not None:
                self.validation = replace(self.validation, data=None)

    def _missing(self) -> int:
        """What the last call of an epoch has less than the others, where the data
        end in it. (The first batch of an epoch goes by with its start.)"""
        if self.steps_per_call == 1 or not isinstance(self.source, tf.data.Dataset):
            return 0
        batches = int(self.source.cardinality())
        return (1 - batches) % self.steps_per_call if batches > 0 else 0

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
        spec = self._live().element_spec
        if spec is not None:
            return iter(ring.dataset(spec))
        whole = [tf.nest.map_structure(joined, batch) for batch in ring.batches]
        dataset = Ring(whole).dataset()
        return iter(self.strategy.experimental_distribute_dataset(dataset))

    def live_step(self) -> None:
        """One step on the job's own input."""
        live = self._live()
        if live.iterator is None:
            live.renew()
        try:
            self.call(live.iterator)
        except (StopIteration, tf.errors.OutOfRangeError):
            live.renew()
            try:
                self.call(live.iterator)
            except (StopIteration, tf.errors.OutOfRangeError):
                raise LoopEnded("an epoch has only one batch") from None


def over(_: Any) -> None:
    """What a loop calls whose step is not known now."""
    raise LoopEnded("its training is over")
