"""What the validation of a fit costs: by experiment, or from the passes that the fit
made itself.

The experiment (`examine_validation.py`) gives the times of a step; what was seen in
passing is a list of `Pass`. Both become `ValidationTimes` here. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean, median

from feedline.measure.measurement import StepTimes, ValidationTimes

_FEWEST_WAITS = 3


@dataclass
class Pass:
    """One pass that the fit made: `seconds` without tracing and without what looking at
    it cost; `first_wait` for its first batch, `waits` for some of the others, where
    they were seen; `steps` that it made."""

    seconds: float = 0.0
    steps: int = 0
    first_wait: float | None = None
    waits: list[float] = field(default_factory=list)
    helped: bool = False
    """With a fix."""

    @property
    def waited(self) -> float | None:
        """In all, by the steps whose wait was seen; None where too few were."""
        others = self.steps - 1
        if self.first_wait is None or len(self.waits) < min(_FEWEST_WAITS, others):
            return None
        each = fmean(self.waits) if self.waits else 0.0
        return min(self.seconds, self.first_wait + others * each)


def by_experiment(step: StepTimes, steps: int) -> ValidationTimes:
    """`step` has its share of what a pass takes to start."""
    seconds = steps * step.observed.value / 1e3
    waits = min(seconds, steps * step.input_wait / 1e3)
    return ValidationTimes(seconds, waits, steps=steps)


def in_passing(passes: Sequence[Pass]) -> ValidationTimes | None:
    """Of those without a fix; the first one is slower than the others and counts only
    where it is all there is. None where there is none."""
    own = [each for each in passes if not each.helped and each.steps]
    own = own[1:] or own
    if not own:
        return None
    waited = [each.waited for each in own]
    known = [each for each in waited if each is not None]
    seconds = median(each.seconds for each in own)
    return ValidationTimes(
        seconds,
        min(seconds, median(known)) if known else None,
        steps=round(median(each.steps for each in own)),
        watched=True,
    )
