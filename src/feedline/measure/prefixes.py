"""Reads a pipeline alone up to one of its stages and takes the CPU time of that.

TensorFlow's model counts the time inside kernels and not that of calling them, which
for small elements is most of it. The difference between two prefixes is what the
stages between them cost. CPU time is this process' own: other work on the machine does
not disturb it.

A prefix with threads of its own works before it is asked and after it has answered.
So it is measured from one rest to the next, when its buffers are as full as before:
then the CPU time in between made as many elements as were read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from feedline.job.loops.loop import Clock
from feedline.job.tfdata.pipeline import Pipeline

_BUFFER_BYTES = 64 * 2**20
_WINDOW_SECONDS = 0.03
_SHORTEST = 0.1
_ROUNDS = 3


@dataclass(frozen=True)
class Rate:
    """Milliseconds per element."""

    cpu: float
    wall: float


class Prefix:
    """`width`: bytes of one element. Elements are read by windows: one call into
    Python for many of them."""

    def __init__(self, pipeline: Pipeline, width: float, clock: Clock) -> None:
        import tensorflow as tf

        from feedline.job.tfdata.rebuild import rebuild

        options = tf.data.Options()
        options.experimental_optimization.inject_prefetch = False
        self._dataset = rebuild(pipeline, fresh=True).repeat().with_options(options)
        self._most = max(1, min(4096, int(_BUFFER_BYTES / max(width, 1.0))))
        self._clock = clock
        self._window = 1
        self.rates: list[Rate] = []
        self._size()

    def _size(self) -> None:
        """Windows that take about `_WINDOW_SECONDS`, so that asking costs little."""
        clock = self._clock
        while True:
            windows = iter(self._dataset.window(self._window))
            next(windows)
            begin = clock.now()
            next(windows)
            took = clock.now() - begin
            wider = min(self._most, 8 * self._window)
            if took > _WINDOW_SECONDS / 4 or wider == self._window:
                return
            self._window = wider

    def measure(self, seconds: float) -> None:
        """One more round."""
        from feedline.job.loops.devices import quiesce

        clock = self._clock
        windows: Any = iter(self._dataset.window(self._window))
        next(windows)
        quiesce(clock, seconds=0.5)
        cpu, begin, read = clock.cpu(), clock.now(), 0
        while read == 0 or clock.now() < begin + seconds:
            next(windows)
            read += self._window
        wall = clock.now() - begin
        quiesce(clock, seconds=0.5)
        self.rates.append(Rate(1e3 * (clock.cpu() - cpu) / read, 1e3 * wall / read))

    @property
    def rate(self) -> Rate:
        return Rate(
            median(rate.cpu for rate in self.rates),
            median(rate.wall for rate in self.rates),
        )


def measure_all(prefixes: Iterable[Prefix], clock: Clock, seconds: float) -> None:
    """Rounds over all of them in turns. None is timed so briefly that what it costs
    to start and to end would count, even if that takes longer than was given; where
    the first round took twice as long, it is the only one."""
    every = list(prefixes)
    each = max(_SHORTEST, seconds / max(1, len(every)) / _ROUNDS / 2)
    until = clock.now() + seconds
    for turn in range(_ROUNDS):
        for prefix in every:
            prefix.measure(each)
        late = clock.now() - until
        if late > (0.0 if turn else seconds):
            return


def rates(prefixes: Mapping[int, Prefix]) -> dict[int, Rate]:
    return {index: prefix.rate for index, prefix in prefixes.items()}
