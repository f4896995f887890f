"""The plans that are known in one run of a script."""

from __future__ import annotations

from feedline.fixes.binding import Binding
from feedline.fixes.fix import Edit
from feedline.session.messages import Order
from feedline.session.plans.known import KnownPlans
from tests.plans import somewhere


def known(**more):
    heard = []
    return KnownPlans(
        Order("run", ("train.py",), False, 20.0, **more), heard.append
    ), heard


def test_a_plan_without_edits_is_not_missed():
    """A rehearsal that found nothing: what it rests on may be another by now."""
    plans, heard = known(plan=somewhere())
    assert plans.refuses(somewhere(), Binding())
    assert heard == []
    assert plans.refuses(somewhere(Edit("prefetch")), Binding())
    (told,) = heard
    assert "the plan was made for" in told


def test_fixes_that_were_taken_out_are_not_used_by_the_next_run():
    plans, _ = known()
    plans.taken_out()
    assert plans.learned == []
    plans.make(somewhere(Edit("prefetch")), 3.0, 7.5)
    plans.taken_out()
    assert [each.plan.edits for each in plans.learned] == [(Edit("prefetch"),), ()]
    assert plans.learned[-1].plan.where == plans.made.where


def test_the_step_is_known_as_it_was_measured_last():
    plans, _ = known()
    where = somewhere().where
    assert plans.step_ms(where) == 0.0
    plans.make(somewhere(), 3.0, 7.5)
    plans.make(somewhere(), 3.0, 8.5)
    assert plans.step_ms(where) == 8.5
    assert plans.step_ms("other.py:1") == 0.0
