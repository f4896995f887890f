"""What is left of a plan that did not hold as a whole."""

from __future__ import annotations

import pytest

from feedline.fixes.fix import Edit, Proposal
from feedline.fixes.plan import Outcome, Plan, Trial
from feedline.measure.measurement import Estimate
from feedline.prove.proof import Faster, Same

pytestmark = pytest.mark.tensorflow

FIRST, SECOND = Edit("steps-per-execution"), Edit("jit-compile")


def faster(low, value, high):
    return Faster(Estimate(2, 2, 2), Estimate(1, 1, 1), Estimate(value, low, high))


@pytest.fixture
def cure():
    cure = pytest.importorskip("feedline.session.cure").Cure(
        None, None, 1.0, ("exact",)
    )
    cure.proofs = {(): Same(True, 3)}
    cure.weight_steps = 4
    return cure


def plan():
    trials = [
        Trial(Proposal(edit, "exact"), 2.0, Outcome(True, "exact"))
        for edit in (FIRST, SECOND)
    ]
    return Plan((FIRST, SECOND), tuple(trials))


def test_what_was_measured_by_itself_stays(cure):
    cure.measurements = {(FIRST,): faster(1.8, 2.0, 2.2)}
    cured = cure._begun(plan(), "not faster")
    assert cured.edits == (FIRST,)
    assert cured.after is cure.measurements[FIRST,]
    assert [trial.applied for trial in cured.plan.trials] == [True, False]
    assert cured.plan.trials[1].outcome.reason == "not faster"


@pytest.mark.parametrize(
    "measured", [{}, {(SECOND,): faster(1.8, 2.0, 2.2)}, {(FIRST,): faster(0.9, 2, 3)}]
)
def test_else_nothing_does(cure, measured):
    cure.measurements = measured
    cured = cure._begun(plan(), "not faster")
    assert cured.edits == ()
    assert cured.after is None
    assert not any(trial.applied for trial in cured.plan.trials)
