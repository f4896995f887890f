"""When does a shape earn a trace of its own, and what was saved?"""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from feedline.session.live.shape_costs import Account, before_s, expected_calls


def loop(epochs=None, passes=0):
    return SimpleNamespace(epochs=epochs, passes=passes)


def account():
    return Account(own_s=0.01, open_s=0.03)


def test_a_shape_that_comes_often_earns_a_trace():
    assert not account().earns(2, loop(), 0.1)
    assert account().earns(6, loop(), 0.1)  # as many again would lose 0.12 s


def test_the_passes_that_are_left_count_where_they_are_known():
    assert account().earns(0, loop(epochs=6), 0.1)
    assert not account().earns(0, loop(epochs=4), 0.1)
    assert not account().earns(6, loop(epochs=6), 0.1)  # it is the last time
    assert not account().earns(5, loop(epochs=6, passes=6), 0.1)
    assert expected_calls(9, loop(epochs=4, passes=3)) == pytest.approx(6.0)
    assert expected_calls(9, loop(epochs=4)) == pytest.approx(9.0)


def test_one_that_is_no_slower_never_does():
    same = Account(own_s=0.03, open_s=0.03)
    assert not same.earns(1000, loop(), 1e-6)


def test_what_was_saved():
    kept = account()
    kept.note(0.03, trace_s=0.4)
    kept.note(0.03)
    assert (kept.steps, kept.shapes) == (2, 1)
    assert kept.saved == pytest.approx(0.4 + 0.01 - 0.06)


def test_a_step_before_is_traced_once_for_its_shape():
    assert before_s(0.01, 0.4, loop()) == pytest.approx(0.4)
    assert before_s(0.01, 0.4, loop(epochs=4)) == pytest.approx((0.4 + 0.03) / 4)
