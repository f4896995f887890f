"""Numbers rounded once, where a report is made, so that the report on the screen and
the one on disk agree."""

from __future__ import annotations

import math
from collections.abc import Mapping

from feedline.measure.measurement import Estimate
from feedline.report.report import SHARES


def tidy(value: float) -> float:
    """Four digits that matter, whole numbers never touched: 84.23, 0.01235."""
    if value == 0 or not math.isfinite(value):
        return value
    return round(value, max(0, 3 - math.floor(math.log10(abs(value)))))


def tidy_shares(shares: Mapping[str, float]) -> dict[str, float]:
    """Rounded, and still never negative and summing to 1: the largest takes
    what rounding left over."""
    raw = {name: shares.get(name, 0.0) for name in SHARES}
    kept = {n: v if math.isfinite(v) and v > 0 else 0.0 for n, v in raw.items()}
    total = sum(kept.values())
    if total == 0:
        return {name: 1.0 if name == "compute" else 0.0 for name in SHARES}
    rounded = {name: round(value / total, 4) for name, value in kept.items()}
    largest = max(kept, key=lambda name: kept[name])
    others = sum(value for name, value in rounded.items() if name != largest)
    rounded[largest] = round(1.0 - others, 4)
    return rounded


def tidy_interval(estimate: Estimate) -> tuple[float, float]:
    return (tidy(estimate.low), tidy(estimate.high))
