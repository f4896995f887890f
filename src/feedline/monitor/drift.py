"""Has a series of readings changed, since when, and by how much; does one grow?
Pure.

The change is the split into two levels that leaves the least squares. Having looked
for the best place among all, the usual two standard errors would be too few; four
are asked for, and are what the interval is made of. How far off the place may be is
Bai's interval (1997): 11 x (noise / change)^2 readings to either side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from feedline.measure.measurement import Estimate
from feedline.monitor.meter import quantile

_FEWEST_ON_A_SIDE = 2
_FEWEST = 6
_ERRORS = 4.0
_BAI = 11.0
_FLOOR = 1e-3


@dataclass(frozen=True)
class Shift:
    """From `at` on the level is `after`. `earliest` and `latest` are where the
    change may have been; `difference` is after minus before."""

    at: int
    earliest: int
    latest: int
    before: float
    after: float
    difference: Estimate


def shift(values: Sequence[float]) -> Shift | None:
    """The one change of level that explains most; None if there is none to see."""
    count = len(values)
    if count < _FEWEST:
        return None
    total = math.fsum(values)
    squares = math.fsum(value * value for value in values)
    best = (-1.0, 0)
    left = 0.0
    for split in range(1, count):
        left += values[split - 1]
        if _FEWEST_ON_A_SIDE <= split <= count - _FEWEST_ON_A_SIDE:
            right = total - left
            explained = left * left / split + right * right / (count - split)
            best = max(best, (explained, split))
    split = best[1]
    before = math.fsum(values[:split]) / split
    after = math.fsum(values[split:]) / (count - split)
    noise = math.sqrt(max(0.0, squares - best[0]) / (count - 2))
    # A series without any noise is one that was rounded.
    noise = max(noise, _FLOOR * max(abs(before), abs(after)))
    reach = _ERRORS * noise * math.sqrt(1 / split + 1 / (count - split))
    change = after - before
    found = Estimate(change, change - reach, change + reach, count)
    if not found.differs:
        return None
    off = math.ceil(_BAI * (noise / change) ** 2)
    return Shift(
        split,
        max(1, split - off),
        min(count - 1, split + off),
        before,
        after,
        found,
    )


def slope(times: Sequence[float], values: Sequence[float]) -> Estimate | None:
    """Growth per unit of time, by least squares. Readings of memory follow each
    other closely, so as few are counted as independent as there are turning points
    of the residuals, and the interval is that much wider."""
    count = len(times)
    if count < _FEWEST:
        return None
    middle_t, middle_v = math.fsum(times) / count, math.fsum(values) / count
    spread = math.fsum((t - middle_t) ** 2 for t in times)
    if spread <= 0:
        return None
    pairs = list(zip(times, values, strict=True))
    found = math.fsum((t - middle_t) * (v - middle_v) for t, v in pairs) / spread
    rest = [v - middle_v - found * (t - middle_t) for t, v in pairs]
    crossings = sum((a < 0) != (b < 0) for a, b in pairwise(rest))
    free = max(1, min(count, 2 * crossings) - 2)
    error = math.sqrt(math.fsum(r * r for r in rest) / free / spread)
    reach = quantile(free) * error
    return Estimate(found, found - reach, found + reach, count)
