"""A loop over a dataset that runs inside one `tf.function`."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from feedline.job.loops.base import Loop, refusable
from feedline.job.loops.call import over
from feedline.job.loops.devices import joined, quiesce, sync
from feedline.job.loops.feeds import Ring
from feedline.job.loops.loop import CannotRun, Clock, Ran, Run
from feedline.job.tfdata.pipeline import Where


class FunctionLoop(Loop):
    """`call(dataset)` runs the loop over it inside one function; set by who wants it
    measured.

    Starting a pipeline is not part of a step, so the time of a short run is
    taken off that of a longer one.
    """

    kind = "function"
    _SHORT = 2

    def __init__(self, where: Where | None, clock: Clock) -> None:
        super().__init__(where, clock)
        self.call = over

    def rest(self) -> None:
        super().rest()
        self.call = over

    def execute(self, run: Run) -> Ran:
        done = self._without_steps(run)
        if done is not None:
            return done
        if run.feed == "device":
            raise CannotRun("a loop inside a function is fed by a dataset only")
        source, longest, timed = self.source, self._batches(), self._timed
        if run.feed == "host":
            source = self._ready(run)
            longest = run.steps + self._SHORT
            timed = refusable(timed)
        elif int(source.cardinality()) < 0:  # it may end before it should
            source = source.repeat()
        quiesce(self.clock)
        steps, seconds, cpu_seconds = 0, 0.0, 0.0
        while steps < run.steps:
            more = min(run.steps - steps, longest - self._SHORT)
            short, _ = timed(source, self._SHORT)
            long, cpu = timed(source, self._SHORT + more)
            steps += more
            seconds += max(long - short, 0.0)
            cpu_seconds += cpu
        return Ran(max(seconds, 1e-6), steps, cpu_seconds)

    def _ready(self, run: Run) -> Any:
        ring = self.ring(run)
        if self.strategy is None:
            return ring.dataset(self.source.element_spec)
        return Ring([tf.nest.map_structure(joined, b) for b in ring.batches]).dataset()

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
