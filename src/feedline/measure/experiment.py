"""From paired, interleaved rounds to a median with an interval.

The rounds of A and B alternate in time, so that whatever disturbs the machine
disturbs both; a difference is taken round by round. The interval is the middle
95 % of the medians of resampled rounds. A difference whose interval holds zero
is no difference.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import numpy as np

from feedline.measure.measurement import Estimate

_RESAMPLES = 400


def estimate(rounds: Sequence[float]) -> Estimate:
    """The median of the rounds and its interval."""
    if not rounds:
        raise ValueError("an estimate needs at least one round")
    middle = statistics.median(rounds)
    if len(rounds) == 1:
        return Estimate(middle, middle, middle, 1)
    values = np.asarray(rounds, dtype=float)
    draws = np.random.default_rng(0).integers(
        0, len(values), size=(_RESAMPLES, len(values))
    )
    medians = np.median(values[draws], axis=1)
    low, high = np.percentile(medians, [2.5, 97.5])
    return Estimate(
        middle, min(float(low), middle), max(float(high), middle), len(values)
    )


def difference(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """First minus second, paired round by round."""
    return estimate([a - b for a, b in zip(first, second, strict=True)])


def tight(rounds: Sequence[float], *, within: float = 0.03, least: int = 5) -> bool:
    """Is the interval narrow enough to stop?"""
    if len(rounds) < least:
        return False
    now = estimate(rounds)
    return (now.high - now.low) / 2 <= within * max(abs(now.value), 1e-9)
