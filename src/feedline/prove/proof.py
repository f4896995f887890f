"""What was compared and what came of it: `Same`, `Faster`, `Cured`. Plain data."""

from __future__ import annotations

from dataclasses import dataclass

from feedline.fixes.fix import Edit
from feedline.fixes.plan import Plan
from feedline.measure.measurement import Estimate

_NO_DIFFERENCE = 0.005


@dataclass(frozen=True)
class Same:
    """Two pipelines read side by side. `elements` counts final batches or
    elements, `epochs` those that were read to their end on both sides; `values` is
    False where only structure, dtypes and shapes could be compared."""

    equal: bool
    elements: int = 0
    epochs: int = 0
    values: bool = True
    difference: str = ""


@dataclass(frozen=True)
class Faster:
    """`gain` is the time before over the time after: above 1 is faster."""

    before: Estimate
    after: Estimate
    gain: Estimate

    @property
    def proved(self) -> bool:
        return self.gain.low > 1.0 + _NO_DIFFERENCE


@dataclass(frozen=True)
class Cured:
    """What may be applied, and what was proved of it. `after` compares the whole
    plan with the job as it was; None where there is nothing to apply. `steps` is
    how many steps were trained twice to compare the weights."""

    plan: Plan
    after: Faster | None = None
    same: Same | None = None
    steps: int = 0

    @property
    def edits(self) -> tuple[Edit, ...]:
        return self.plan.edits
