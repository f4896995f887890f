"""Measuring is an investment: how much of it a training is worth."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedline.session.worth import Budget, TooShort, balance, worth_trying

seconds = st.floats(0.0, 1e6)


@given(most=st.floats(0.1, 600.0), training=st.floats(6.0, 1e6))
def test_at_most_a_tenth_of_the_training_is_spent_or_a_moment(most, training):
    budget = Budget(most).for_training(training)
    assert 0 < budget <= min(most, max(1.5, 0.1 * training))


@given(training=st.floats(0.0, 5.9))
def test_a_short_training_is_not_measured(training):
    with pytest.raises(TooShort, match="too short to repay"):
        Budget(60.0).for_training(training)


@given(steps=st.integers(1, 10_000), step=st.floats(1e-5, 100.0))
def test_too_few_steps_are_so_however_long_each_takes(steps, step):
    budget = Budget(60.0)
    if budget.too_few(steps):
        with pytest.raises(TooShort):
            budget.for_training(steps * step, step)


def test_steps_that_are_repeated_or_asked_for_are_not_too_few():
    assert Budget(60.0).too_few(99)
    assert not Budget(60.0).too_few(100)
    assert not Budget(60.0, more_s=30.0).too_few(9)
    assert not Budget(60.0, given=True).too_few(9)


def test_an_unknown_length_has_a_small_budget():
    assert 0 < Budget(60.0).for_training(None) <= 10.0


@given(most=st.floats(1.0, 600.0), training=st.floats(1.0, 1e6))
def test_seconds_that_were_given_are_used(most, training):
    assert Budget(most, given=True).for_training(training) >= min(most, 3.0)
    assert Budget(most, given=True).for_training(None) == most


def test_a_training_that_ends_at_once_is_too_short_for_any_budget():
    with pytest.raises(TooShort):
        Budget(60.0, given=True).for_training(0.3)


@given(training=seconds, gain=st.floats(1.0, 100.0), more=st.floats(1.0, 10.0))
def test_what_is_worth_trying_stays_so_with_more_gain_or_more_training(
    training, gain, more
):
    if worth_trying(training, gain):
        assert worth_trying(training * more, gain)
        assert worth_trying(training, gain * more)


def test_a_gain_on_a_rest_of_seconds_is_not_worth_a_trial():
    assert not worth_trying(5.0, 1.3)
    assert worth_trying(500.0, 1.3)
    assert worth_trying(None, 1.05)


def test_the_balance_is_true_arithmetic():
    assert balance(12.0, 94.0) == "measured 12 s, saved 94 s, net 82 s"
    assert balance(3.2, 0.0) == "measured 3.2 s, saved 0 s, net -3.2 s"
    assert balance(0.0, 4.04) == "measured 0 s, saved 4.0 s, net 4.0 s"


def test_too_few_steps_are_not_measured():
    assert Budget(60.0).for_training(20.0, 0.05) == 2.0
    with pytest.raises(TooShort, match=r"too few steps of 0\.1 s"):
        Budget(60.0).for_training(20.0, 0.1)
    assert Budget(60.0, given=True).for_training(20.0, 0.1) == 60.0


def test_what_is_trained_later_at_the_same_line_counts():
    assert Budget(60.0, more_s=100.0).for_training(20.0) == 12.0
    assert Budget(60.0, more_s=100.0).to_gain_from(20.0) == 120.0
    assert Budget(60.0, given=True).to_gain_from(20.0) is None
