"""What trying one fix on the training's own steps comes to: the proposal that it was,
the plan, and what is not known because nothing was fed to a step."""

from __future__ import annotations

from collections.abc import Callable

from feedline import fixes
from feedline.fixes.fix import Case, Proposal
from feedline.fixes.plan import Outcome, Plan, Trial
from feedline.measure.measurement import Estimate
from feedline.prove.proof import Cured, Faster

NOT_SEEN = "what a step costs with ready batches: it was not fed any"


def proposal_for(
    case: Case, wanted: Callable[[fixes.OwnLoop], bool]
) -> Proposal | None:
    """The fix that asks this of a loop of the script's own."""
    for each in fixes.proposals(case, ("exact",)):
        if wanted(fixes.own_loop((each.edit,))):
            return each
    return None


def cured_by(
    proposal: Proposal,
    expected: float | None,
    outcome: Outcome,
    faster: Faster,
    compared: int,
) -> Cured:
    """It is applied, or the reason stands beside it."""
    tried = Trial(proposal, expected, outcome)
    if not outcome.kept:
        return Cured(Plan((), (tried,)))
    return Cured(Plan((proposal.edit,), (tried,)), faster, None, compared)


def exactly(value: float) -> Estimate:
    return Estimate(value, value, value)
