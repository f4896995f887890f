"""The passes that a fit makes over its validation data, seen as it makes them.

A clock around each pass; and some of its steps are fed in the open
(`monitor/probe.py`), which shows how long a step waits for its batch. The same batches
are validated, in the same order, by the same function. Nothing is tried here.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from feedline.job import marks
from feedline.job.loops.loop import Clock
from feedline.measure.validation import Pass

log = logging.getLogger(__name__)

_MOST_PROBES = 24  # in a pass
_APART = 3  # where nobody knows how many steps there will be


@dataclass
class Passes:
    """Of one fit, in order; `epochs` are the seconds of training before each."""

    clock: Clock
    tracing: Callable[[], float] = lambda: 0.0
    made: list[Pass] = field(default_factory=list)
    epochs: list[float] = field(default_factory=list)
    hidden: str = ""
    """Why the wait for the input cannot be seen."""
    _now: _Running | None = None
    _epoch_began: float | None = None

    def epoch_begins(self) -> None:
        self._epoch_began = self.clock.now()

    def training_is_over(self) -> None:
        """For this epoch: what comes now is not the training's time."""
        if self._epoch_began is not None:
            self.epochs.append(self.clock.now() - self._epoch_began)
        self._epoch_began = None

    def begins(self, model: Any, steps: int | None, *, helped: bool) -> None:
        self._put_back()
        now = _Running(model, Pass(helped=helped), self.clock.now(), self.tracing())
        self._now = now
        test = model.test_function
        if test is None or hasattr(test, marks.ORIGINAL):
            return
        if model.run_eagerly:
            self.hidden = "its steps run eagerly"
        step = self._around(now, test, steps)
        setattr(step, marks.ORIGINAL, test)
        model.test_function = step

    def ends(self) -> Pass | None:
        """The pass that is over; it counts only if it came to its end."""
        ended, now = self.clock.now(), self._now
        self._put_back()
        if now is None or not now.seen.steps:
            return None
        traced = self.tracing() - now.traced
        now.seen.seconds = max(0.0, ended - now.began - traced - now.cost)
        self.made.append(now.seen)
        return now.seen

    def _put_back(self) -> None:
        """The model's own test function, also where a pass was broken off."""
        now, self._now = self._now, None
        if now is not None:
            test = now.model.test_function
            now.model.test_function = getattr(test, marks.ORIGINAL, test)

    def close(self) -> None:
        self._put_back()

    def _around(
        self, now: _Running, test: Callable[[Any], Any], steps: int | None
    ) -> Callable[[Any], Any]:
        per_call = max(1, int(now.model.steps_per_execution))
        apart = _APART if steps is None else max(1, steps // per_call // _MOST_PROBES)
        lot = random.Random(0)  # not the generator that the user seeds
        # The first call of all traces: it is fed as the script feeds it.
        seen, due = now.seen, 0 if self.made else 1

        def step(iterator: Any) -> Any:
            nonlocal due
            call = seen.steps // per_call
            fed = iterator
            if call == due and not self.hidden and len(seen.waits) < _MOST_PROBES:
                due = call + lot.randint(1, 2 * apart - 1)
                fed = self._fed(now, iterator, per_call)
            result = test(fed)
            seen.steps += per_call
            return result

        return step

    def _fed(self, now: _Running, iterator: Any, steps: int) -> Any:
        """What this call reads from, and what finding that out cost."""
        from feedline.monitor.probe import CannotProbe, take

        try:
            probe = take(iterator, steps, self.clock)
        except CannotProbe as reason:
            self.hidden = str(reason)
            return iterator if reason.batches is None else reason.batches
        if probe is None:
            return iterator
        if now.seen.steps == 0:
            now.seen.first_wait = probe.waited
        else:
            now.seen.waits.append(probe.waited / steps)
        now.cost += probe.cost
        now.kept = probe.kept  # until the next is made
        return probe.iterator


@dataclass
class _Running:
    """The pass that is under way."""

    model: Any
    seen: Pass
    began: float
    traced: float
    cost: float = 0.0
    kept: Any = None
