"""What is left of the time for measuring in a run, and for whom."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from feedline.session.messages import Order
from feedline.session.run.measuring_time import MeasuringTime


def time_of(**more):
    heard = []
    order = Order("run", ("train.py",), False, 20.0, **more)
    return MeasuringTime(order, heard.append), heard


def fit(where=None, passes=None):
    told = None if passes is None else SimpleNamespace(passes=passes)
    return SimpleNamespace(where=where, validation=told)


def test_all_fits_share_the_time_for_measuring():
    time, heard = time_of()
    assert time.for_fit(fit()) == 20
    time.spent_s = 12.5
    assert time.for_fit(fit()) == 7.5
    assert heard == []
    time.spent_s = 17
    assert time.for_fit(fit("train.py:3")) == 0
    assert time.for_fit(fit("train.py:4")) == 0
    (told,) = heard
    assert "the 20 s for measuring are used up" in told
    assert "train.py:3" in told


@pytest.mark.parametrize(("passes", "seconds"), [(None, 20), (1, 20), (4, 15)])
def test_a_part_is_kept_for_a_validation_of_many_passes(passes, seconds):
    time, _ = time_of()
    assert time.for_fit(fit(passes=passes)) == seconds


@pytest.mark.parametrize(("spent_s", "seconds"), [(0, 10), (12, 8), (19, 5)])
def test_a_validation_has_what_the_training_left(spent_s, seconds):
    time, _ = time_of()
    time.spent_s = spent_s
    assert time.for_validation() == seconds


def test_finding_out_what_is_too_short_has_an_end():
    time, _ = time_of(given=False)
    time.looked("train.py:3", 1.5)
    assert time.is_too_short("train.py:3")
    assert not time.may_look("train.py:3")
    assert time.may_look("train.py:4")
    time.looked("train.py:4", 1.0)
    assert not time.may_look("train.py:5")
    told, _ = time_of(given=True)
    told.looked("train.py:3", 9.0)
    assert told.may_look("train.py:4")


def test_many_short_fits_at_one_line_are_a_long_training():
    time, _ = time_of(given=False)
    time.looked("train.py:3", 0.1)
    for _ in range(7):
        assert time.is_too_short("train.py:3")
        time.trained("train.py:3", 0.4)
    time.trained("train.py:3", 0.4)
    assert time.may_look("train.py:3")
    assert time.budget("train.py:3", 20.0).for_training(4.0) == 1.5
    time.looked("train.py:3", 0.1)
    time.trained("train.py:3", 3.0)
    assert time.is_too_short("train.py:3")
    time.trained("train.py:3", 0.3)
    assert not time.is_too_short("train.py:3")
    assert not time.is_too_short("train.py:4")


def test_as_much_is_expected_as_in_the_last_run():
    time, _ = time_of(given=False, trained_s={"train.py:3": 100.0})
    assert time.budget("train.py:3", 20.0).for_training(10.0) == 10.0
    time.trained("train.py:3", 20.0)
    assert time.budget("train.py:3", 20.0).for_training(10.0) == 8.0
    time.trained("train.py:3", 70.0)
    assert time.budget("train.py:3", 20.0).for_training(10.0) == 10.0
    assert time.budget("train.py:4", 20.0).for_training(20.0) == 2.0


def test_what_was_too_short_in_the_last_run_is_not_looked_at():
    last = {"trained_s": {"train.py:3": 2.0, "train.py:4": 7.0}}
    last["too_short"] = ("train.py:3",)
    time, _ = time_of(given=False, **last)
    assert "took 2 s in the last run" in time.was_too_short("train.py:3")
    assert time.is_too_short("train.py:3")
    assert time.too_short() == ("train.py:3",)
    assert time.was_too_short("train.py:4") == ""
    assert time.was_too_short("train.py:5") == ""
    told, _ = time_of(given=True, **last)
    assert told.was_too_short("train.py:3") == ""
