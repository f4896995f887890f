"""What the command hands on of what a script's process had to say."""

from __future__ import annotations

from feedline.session import ran
from feedline.session.messages import Order, Outcome
from tests.session.build import basis


def test_where_judging_fails_the_script_ended_as_it_did(monkeypatch):
    monkeypatch.setattr(ran, "judge", lambda basis: 1 / 0)
    order = Order("run", ("train.py",), False, 20.0)
    told = []
    came = ran.came_to(order, Outcome(basis=basis(), loops=1), 7, None, told.append)
    assert (came.code, came.report) == (7, None)
    assert "this is a bug in feedline: ZeroDivisionError" in told[0]
