"""What may help but is not tried: advice, and what the user has not allowed."""

from __future__ import annotations

from feedline import fixes
from feedline.errors import FeedlineError
from feedline.fixes.fix import CannotFix, Case, Grade, Proposal
from feedline.fixes.plan import Outcome, Trial, gain

_WORTH_TELLING = 1.02


def untried(case: Case, allowed: tuple[Grade, ...]) -> list[Trial]:
    """What is expected of each, the most promising first."""
    others = tuple(grade for grade in fixes.GRADES if grade not in allowed)
    step_ms = case.measured.step.ceiling.value
    found = [
        Trial(proposal, gain(case, step_ms, proposal), _outcome(proposal))
        for proposal in fixes.proposals(case, others)
        if _fits(case, proposal)
    ]
    worth = [trial for trial in found if (trial.predicted or 0.0) >= _WORTH_TELLING]
    return sorted(worth, key=lambda trial: -(trial.predicted or 0.0))


def _fits(case: Case, proposal: Proposal) -> bool:
    try:
        fixes.apply(case.pipeline, [proposal.edit])
    except (CannotFix, FeedlineError):
        return False
    return True


def _outcome(proposal: Proposal) -> Outcome:
    if proposal.grade == "advice":
        reason = f"this needs a person. {proposal.note}".strip()
    else:
        reason = f"it needs --allow {proposal.grade}"
    return Outcome(False, proposal.grade, None, reason)
