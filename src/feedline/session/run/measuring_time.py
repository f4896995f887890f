"""The time for measuring in one run of a script. `--seconds` is for all that is
measured in it, not for each fit: what was used up, what is left and for whom.

Many scripts train at one line again and again, by a function that fits one model after
the other, or epoch by epoch. What was trained there counts for the next time: as much
again is expected, or as much as in the last run of the script.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from feedline.session.worth import Budget, TooShort

if TYPE_CHECKING:
    from feedline.job.tfdata.pipeline import Where
    from feedline.session.messages import Order

_MOST_LOOKING_S = 2.0  # for finding out that fits are too short to be measured
_LEAST_SHARE = 0.2  # of the time for measuring, below which nothing is begun
_VALIDATIONS_SHARE = 0.25  # of the time for measuring a fit
_ENOUGH_S = 3.0  # of training at one line, to look there once more


class MeasuringTime:
    """`spent_s` is what measuring took so far, `trained_s` all training at a line."""

    def __init__(self, order: Order, say: Callable[[str], None]) -> None:
        self.spent_s = 0.0
        self._whole, self._given, self._say = order.seconds, order.given, say
        self._told = False
        self._looking_s = 0.0
        self.trained_s: dict[str, float] = {}
        self._last_run_s = order.trained_s
        self._short_then = order.too_short
        # Where fits were not worth measuring, and how long it had trained there then.
        self._too_short: dict[str, float] = {}

    # ------------------------------------------------------------------ what is left

    def for_fit(self, loop: Any) -> float:
        """A part is kept for its validation; 0 where too little is left to find
        anything out."""
        seconds = self._left(loop.where)
        if loop.validation is not None and loop.validation.passes != 1:
            seconds *= 1 - _VALIDATIONS_SHARE
        return seconds

    def for_validation(self) -> float:
        """The part that the training left, and of the rest no more than half."""
        left = min(self._whole / 2, self._whole - self.spent_s)
        return max(_VALIDATIONS_SHARE * self._whole, left)

    def worth(self, where: str, training_s: float | None) -> float:
        """How long a training of so much would be measured now."""
        if self._given:
            return self._whole
        with suppress(TooShort):
            return self.budget(where, self._whole).for_training(training_s)
        return 0.0

    def _left(self, where: Where | None) -> float:
        left = self._whole - self.spent_s
        if left >= _LEAST_SHARE * self._whole:
            return left
        if not self._told:
            self._told = True
            self._say(
                f"the {self._whole:g} s for measuring are used up; the training "
                f"at {where} runs unchanged. To measure it, give a larger --seconds"
            )
        return 0.0

    # -------------------------------------------------------------- is it too short?

    def budget(self, where: str, seconds: float) -> Budget:
        """For a fit at this line."""
        trained_s = self.trained_s.get(where, 0.0)
        least_s = self._last_run_s.get(where, 0.0) - trained_s
        return Budget(seconds, self._given, trained_s, least_s)

    def trained(self, where: str, seconds: float) -> None:
        """A fit there is over, and took so long."""
        self.trained_s[where] = self.trained_s.get(where, 0.0) + seconds

    def may_look(self, where: str) -> bool:
        """Is it not known yet that what stands there is too short to be measured, and
        was not too much time spent on finding such things out?"""
        looking = self._given or self._looking_s <= _MOST_LOOKING_S
        return looking and not self.is_too_short(where)

    def was_too_short(self, where: str) -> str:
        """Why it is not worth looking at all, by the last run; empty where it is."""
        last_s = self._last_run_s.get(where)
        known = where in self._short_then and where not in self.trained_s
        if self._given or last_s is None or not known:
            return ""
        self._too_short[where] = 0.0
        return f"training took {last_s:.2g} s in the last run, too short for measuring"

    def too_short(self) -> tuple[str, ...]:
        """The lines where nothing was measured for that reason."""
        return tuple(self._too_short)

    def measured(self, where: str) -> None:
        self._too_short.pop(where, None)

    def looked(self, where: str, seconds: float) -> None:
        """It took so long to see that it is too short."""
        self._looking_s += seconds
        self._too_short[where] = self.trained_s.get(where, 0.0)

    def is_too_short(self, where: str) -> bool:
        """So it was, and it has not become much more since."""
        if where not in self._too_short:
            return False
        trained_s = self.trained_s.get(where, 0.0)
        return trained_s < max(_ENOUGH_S, 2 * self._too_short[where])
