"""Edits that are in force without a trial: they change nothing, whatever the job does.

Whether they pay shows in the steps of a training, or the passes of a validation, that
they help: these are held against the others, and what does not pay is taken out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from feedline.fixes.fix import AtOnce, Edit
from feedline.fixes.plan import Outcome, Plan, Trial
from feedline.measure.measurement import Estimate

_MOSTLY = 0.8


@dataclass
class WithoutTrial:
    """`lost`: they did not pay, and are out."""

    found: tuple[AtOnce, ...] = ()
    lost: bool = False
    _counts: tuple[int, int] = (0, 0)

    @property
    def in_force(self) -> bool:
        return bool(self.found) and not self.lost

    @property
    def edits(self) -> tuple[Edit, ...]:
        return tuple(each.proposal.edit for each in self.found)

    @property
    def names(self) -> str:
        return ", ".join(edit.fix for edit in self.edits)

    def helped(self) -> bool:
        """Did they save most of the work since this was asked last?"""
        both = [each.counts() for each in self.found]
        found, made = sum(f for f, _ in both), sum(m for _, m in both)
        before, self._counts = self._counts, (found, made)
        found, made = found - before[0], made - before[1]
        return found > _MOSTLY * (found + made)

    def taken_out(self, helped: Sequence[float], others: Sequence[float]) -> bool:
        """Where what they helped with did not take less than the others."""
        if not others or median(helped) < median(others):
            return False
        self.lost = True
        for each in self.found:
            each.stop()
        return True

    def came_to(self, before: Estimate, after: Estimate) -> tuple[Plan, Estimate]:
        """As a plan, and its gain."""
        gain = Estimate(
            before.value / max(after.value, 1e-9),
            before.low / max(after.high, 1e-9),
            before.high / max(after.low, 1e-9),
        )
        trials = tuple(
            Trial(
                each.proposal,
                None,
                Outcome(not self.lost, each.proposal.grade, gain, each.came_to()),
            )
            for each in self.found
        )
        return Plan(() if self.lost else self.edits, trials), gain
