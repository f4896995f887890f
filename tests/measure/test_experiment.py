"""Laws of the estimates: from rounds to a median with an interval."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedline.measure.experiment import difference, estimate, tight
from feedline.measure.timing import compare
from tests.clock import FakeClock

times = st.floats(0.001, 1e6)
rounds = st.lists(times, min_size=1, max_size=30)


@given(rounds)
def test_the_median_lies_in_its_interval_and_that_in_the_rounds(values):
    found = estimate(values)
    assert min(values) <= found.low <= found.value <= found.high <= max(values)
    assert found.rounds == len(values)


@given(rounds)
def test_the_order_of_the_rounds_does_not_move_the_median(values):
    assert estimate(values).value == estimate(sorted(values)).value


@given(rounds)
def test_the_same_rounds_give_the_same_estimate(values):
    assert estimate(values) == estimate(list(values))


@given(times, st.integers(2, 20))
def test_rounds_that_agree_leave_no_doubt(value, count):
    found = estimate([value] * count)
    assert found.interval == (value, value)
    assert tight([value] * max(count, 5))


@given(rounds, st.floats(0.1, 100))
def test_other_units_only_scale_it(values, factor):
    one, other = estimate(values), estimate([factor * value for value in values])
    assert other.value == pytest.approx(factor * one.value)
    assert other.low == pytest.approx(factor * one.low)
    assert other.high == pytest.approx(factor * one.high)


@given(rounds)
def test_nothing_differs_from_itself(values):
    found = difference(values, values)
    assert found.value == 0
    assert not found.differs


@given(rounds, st.floats(1, 100))
def test_a_constant_difference_is_found_whatever_the_noise(values, extra):
    slower = [value + extra for value in values]
    found = difference(slower, values)
    assert found.value == pytest.approx(extra, rel=1e-3)
    assert found.differs
    assert difference(values, slower).value == pytest.approx(-found.value)


@given(st.floats(0.1, 100), st.integers(3, 15))
def test_a_difference_that_goes_both_ways_is_none(size, pairs):
    assert not estimate([size, -size] * pairs).differs


def test_one_outlier_is_no_difference():
    quiet = [10.0] * 9
    disturbed = [10.0] * 8 + [500.0]
    assert not difference(disturbed, quiet).differs
    assert estimate(disturbed).value == 10.0


def test_few_rounds_are_never_tight():
    assert not tight([1.0] * 4)
    assert tight([1.0] * 4, least=3)
    assert not tight([1.0, 2.0, 3.0, 4.0, 5.0])


def test_no_rounds_are_no_estimate():
    with pytest.raises(ValueError, match="at least one"):
        estimate([])
    with pytest.raises(ValueError, match="zip"):
        difference([1.0], [1.0, 2.0])


def test_comparing_takes_turns_and_ends_when_it_is_sure():
    clock, order = FakeClock(), []

    def takes(name: str, seconds: float):
        def call() -> None:
            order.append(name)
            clock.work(seconds)

        return call

    calls = {"slow": takes("slow", 0.1), "fast": takes("fast", 0.05)}
    found = compare(calls, clock, seconds=60)
    assert found["slow"].value == pytest.approx(100)
    assert found["fast"].value == pytest.approx(50)
    assert clock.now() < 5
    after_warming_up = order[4:]
    assert after_warming_up[:6] == ["slow", "fast", "fast"] * 2


def test_comparing_keeps_to_its_seconds():
    clock, turn = FakeClock(), iter(range(10**6))
    compare({"odd": lambda: clock.work(1.0 + next(turn) % 7)}, clock, seconds=20)
    assert clock.now() < 50
