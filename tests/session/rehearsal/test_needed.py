"""When a run is rehearsed: not a script that nobody knows; later, where it pays."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from feedline.session.plans.memory import Uncured
from feedline.session.rehearsal.needed import by_memory

SECONDS = st.floats(0, 1e6, allow_nan=False)


def uncured(training_s: float | None, starting_s: float) -> Uncured:
    return Uncured("train.py:7", "its step is inline", 20.0, training_s, starting_s)


def test_what_nobody_knows_starts_at_once():
    assert by_memory(None) == ""


@given(SECONDS, SECONDS)
def test_the_training_is_ten_times_what_a_rehearsal_costs(training_s, starting_s):
    reason = by_memory(uncured(training_s, starting_s))
    if reason:
        assert reason == "train.py:7: its step is inline"
        assert training_s >= 10 * starting_s
    else:
        assert training_s < 10 * (starting_s + 5)


def test_a_training_without_an_end_is_not_rehearsed():
    assert by_memory(uncured(None, 1.0)) == ""
