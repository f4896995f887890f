"""From single steps to readings, one for every few seconds. Pure: times come in.

What counts is the period of a step, from the end of the one before to its own end,
so that callbacks and logging are in it. Left out: the first steps of all, which
trace and allocate, and the first of every epoch, which starts the input; those have
a median of their own.

The share that waits is a ratio of two sums over the steps whose wait was seen, and
its interval is that of a ratio estimator: the spread of `wait - share x period`.
"""

from __future__ import annotations

import math
import statistics
from collections import deque
from collections.abc import Sequence

from feedline.measure.measurement import Estimate
from feedline.monitor.reading import Reading

WARM_UP = 3
_FEWEST_STEPS = 5
_FEWEST_PAIRS = 4
_KEPT_WAITS = 256


class Ratio:
    """A share of the time, from pairs of a part and the whole."""

    def __init__(self) -> None:
        self.pairs = 0
        self._part = self._whole = 0.0
        self._squares = [0.0, 0.0, 0.0]

    def add(self, part: float, whole: float) -> None:
        self.pairs += 1
        self._part += part
        self._whole += whole
        for place, product in enumerate((part * part, part * whole, whole * whole)):
            self._squares[place] += product

    def estimate(self) -> Estimate | None:
        """None from too few pairs to say how far off it may be."""
        if self.pairs < _FEWEST_PAIRS or self._whole <= 0:
            return None
        value = self._part / self._whole
        parts, both, wholes = self._squares
        rest = max(0.0, parts - 2 * value * both + value * value * wholes)
        free = self.pairs - 1
        mean = self._whole / self.pairs
        error = math.sqrt(rest / (self.pairs * free)) / mean
        reach = quantile(free) * error
        value = min(1.0, max(0.0, value))
        return Estimate(
            value, max(0.0, value - reach), min(1.0, value + reach), self.pairs
        )


def quantile(free: int) -> float:
    """Student's t for 95 %, to a hundredth or two from 3 degrees of freedom on."""
    return 1.96 + 2.4 / free + 3.2 / free**2


class Meter:
    """Takes steps in, gives a `Reading` when `every` seconds are full."""

    def __init__(self, every: float) -> None:
        self.every = every
        self.steps = self.calls = self.epoch = 0
        self.seconds = 0.0
        self.whole = Ratio()
        self.waits: deque[float] = deque(maxlen=_KEPT_WAITS)
        self.examples: float | None = None  # in one step, as last seen
        self._starts: list[float] = []
        self._fresh = True
        self._open()

    def _open(self) -> None:
        self._periods: list[float] = []
        self._taken = 0
        self._length = 0.0
        self._ratio = Ratio()

    def begin_epoch(self) -> None:
        self.epoch += 1
        self._fresh = True

    def step(
        self,
        period: float,
        *,
        steps: int = 1,
        waited: float | None = None,
        examples: float | None = None,
    ) -> bool:
        """A call of the train function is over: `steps` steps in `period` seconds, of
        which it waited so long, where that was seen. True: a reading is due."""
        self.calls += 1
        self.steps += steps
        self.seconds += period
        if examples is not None:
            self.examples = examples / steps
        if self._fresh:
            self._fresh = False
            if self.calls > 1:
                self._starts.append(period)
            return False
        if self.calls <= WARM_UP or period <= 0:
            return False
        self._periods.append(period / steps)
        self._taken += steps
        self._length += period
        if waited is not None:
            waited = min(waited, period)
            self._ratio.add(waited, period)
            self.whole.add(waited, period)
            self.waits.append(waited / steps)
        return self._length >= self.every and len(self._periods) >= _FEWEST_STEPS

    def typical(self) -> float:
        """Seconds of one step, by the latest; 0 where there are none."""
        return statistics.median(self._periods[-31:]) if self._periods else 0.0

    def peek(self, memory: float | None = None) -> Reading | None:
        """The window as it stands."""
        if not self._periods:
            return None
        rate = None
        if self.examples is not None and self._length > 0:
            rate = self.examples * self._taken / self._length
        return Reading(
            self.steps,
            self.epoch,
            self.seconds,
            self._taken,
            1e3 * statistics.median(self._periods),
            rate,
            self._ratio.estimate(),
            memory,
        )

    def close(self, memory: float | None = None) -> Reading | None:
        found = self.peek(memory)
        self._open()
        return found

    @property
    def epoch_start(self) -> float | None:
        return statistics.median(self._starts) if self._starts else None


def slowest_tenth(waits: Sequence[float]) -> float:
    """The part of all waiting that falls on the tenth of the steps that wait
    longest: 0.1 where all wait alike."""
    total = sum(waits)
    most = sorted(waits, reverse=True)[: max(1, len(waits) // 10)]
    return sum(most) / total if total > 0 else 0.0
