"""How fast a fit trains, epoch by epoch: from the first batch that an epoch asks for to
the end of its last step, without the validation and the callbacks between epochs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile

from feedline.job.loops.loop import Clock

_LEAST_S = 0.5
_LEAST_STEPS = 5
# (how much slower, for so many seconds of epochs in a row, of which there are at least
# so many): a busy machine makes a single short epoch slow, whatever it reads.
_SLOWER = ((2.0, 0.0, 1), (1.25, 3.0, 1), (1.1, 6.0, 2))


@dataclass
class Pace:
    """`epochs` are the steps and seconds of each that is over."""

    clock: Clock
    epochs: list[tuple[int, float]] = field(default_factory=list)
    _steps: int = 0
    _began: float | None = None
    _last: float = 0.0

    def begins(self) -> None:
        """A call of the train function."""
        if self._began is None:
            self._began = self.clock.now()

    def ends(self, steps: int) -> None:
        self._steps += steps
        self._last = self.clock.now()

    def epoch_is_over(self) -> None:
        if self._began is not None and self._steps:
            self.epochs.append((self._steps, self._last - self._began))
        self._steps, self._began = 0, None

    @property
    def so_far(self) -> tuple[int, float]:
        """The steps and seconds of all epochs that are over."""
        steps = (steps for steps, _ in self.epochs)
        return sum(steps), sum(seconds for _, seconds in self.epochs)

    def slower_than(self, step_ms: float) -> float | None:
        """The milliseconds per step of the last epochs, if all of them, for long
        enough, took longer than that. The first is not judged: it traces, and fills
        caches."""
        told = [
            (1e3 * seconds / steps, seconds)
            for steps, seconds in reversed(self.epochs[1:])
            if seconds >= _LEAST_S and steps >= _LEAST_STEPS
        ]
        if step_ms <= 0:
            return None
        for times, long_s, least in _SLOWER:
            limit = times * step_ms
            row = list(takewhile(partial(_beyond, limit), told))
            if len(row) >= least and sum(seconds for _, seconds in row) >= long_s:
                return row[0][0]
        return None


def _beyond(limit: float, epoch: tuple[float, float]) -> bool:
    return epoch[0] > limit
