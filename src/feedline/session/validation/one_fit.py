"""What is known of the validation of one fit: its passes, what is put under them, and
what was found out by experiment or by watching. Nothing is decided here but whether
edits without a trial pay."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from feedline.job import marks
from feedline.measure.measurement import ValidationTimes
from feedline.measure.validation import Pass
from feedline.prove.proof import Cured
from feedline.report.basis import Basis
from feedline.session.plans.without_trial import WithoutTrial
from feedline.session.validation.passes import Passes

_JUDGED = 2  # passes after which an edit without a trial must have paid


@dataclass
class OneFit:
    """`where` is the line of its data; `times` are by experiment; `own_s` is what a
    pass took without the fixes, 0 where nobody knows; `before` is what Keras read then,
    where it may read that again; `live` are edits that were used without a trial."""

    passes: Passes
    begun: bool = False
    data: Any = None
    where: Any = None
    before: Any = None
    own_s: float = 0.0
    helped: bool = False
    pace: Any = None
    live: WithoutTrial = field(default_factory=WithoutTrial)
    times: ValidationTimes | None = None
    cured: Cured | None = None
    why_not: str = ""

    def over(self) -> None:
        """The fit is: what is the script's is not held any longer."""
        self.passes.close()
        self.where = getattr(self.data, marks.WHERE, None)
        self.data = self.before = None

    def judge(self, seen: Pass) -> bool:
        """After a pass with edits without a trial: did they turn out not to pay, and
        are out?"""
        seen.helped = self.live.helped()
        helped, own = self._seconds()
        if own:
            self.own_s = median(own)
        return len(helped) == _JUDGED and self.live.taken_out(helped, own)

    def known(self, loop: Any) -> tuple[ValidationTimes | None, Cured | None, str]:
        """What it costs, what was proved for it, and why nothing was tried, if so."""
        from feedline.measure.validation import in_passing

        times = self.times or in_passing(self.passes.made)
        if times is None:
            return None, None, self.why_not
        told, epochs = loop.validation, self.passes.epochs
        where = getattr(self.data, marks.WHERE, None) or self.where
        times = replace(
            times,
            passes=told.passes,
            every=told.every,
            epoch_s=median(epochs[1:] or epochs) if epochs else None,
            data=told.kind,
            where=where or loop.where,
        )
        return times, self.cured or self._came_to(), self.why_not

    def _came_to(self) -> Cured | None:
        """What the edits without a trial came to."""
        helped, own = self._seconds()
        if not self.live.found or not helped or not own:
            return None
        from feedline.measure.experiment import estimate

        plan, _ = self.live.came_to(estimate(own), estimate(helped))
        return Cured(plan)

    def _seconds(self) -> tuple[list[float], list[float]]:
        """Of the passes that the edits helped, and of the others."""
        made = self.passes.made
        helped = [each.seconds for each in made if each.helped]
        return helped, [each.seconds for each in made if not each.helped]


def with_validation(
    basis: Basis, times: ValidationTimes | None, cured: Cured | None, why_not: str
) -> Basis:
    """What was found out about the fit, and about its validation."""
    if times is None:
        return basis
    measured, job = replace(basis.measurement, validation=times), basis.job
    if why_not:
        note = f"Nothing was tried with its validation: {why_not}."
        job = replace(job, notes=tuple(dict.fromkeys((*job.notes, note))))
    return replace(basis, measurement=measured, job=job, validated=cured)
