"""Readings, drift and alarms by themselves: planted series, no TensorFlow."""

from __future__ import annotations

import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedline.measure.measurement import Estimate
from feedline.monitor import alarms
from feedline.monitor.drift import shift, slope
from feedline.monitor.meter import Meter, Ratio, slowest_tenth
from feedline.monitor.reading import Reading, Summary, status


def test_the_interval_of_a_share_holds_the_truth():
    """In 400 samples of 30 steps it misses about one time in twenty."""
    lot = random.Random(1)
    missed = 0
    for _ in range(400):
        ratio = Ratio()
        for _ in range(30):
            waited = lot.expovariate(1.0)
            ratio.add(waited, waited + lot.uniform(0.5, 1.5))
        found = ratio.estimate()
        missed += not found.low <= 0.5 <= found.high
    assert missed < 45


times = st.floats(0.001, 10.0)


@given(st.lists(st.tuples(times, st.floats(0, 1)), max_size=30))
def test_a_share_is_one(pairs):
    ratio = Ratio()
    for whole, part in pairs:
        ratio.add(whole * part, whole)
    found = ratio.estimate()
    if found is None:
        assert len(pairs) < 4
    else:
        assert 0 <= found.low <= found.value <= found.high <= 1


def test_readings_leave_out_what_is_no_steady_step():
    meter = Meter(every=1.0)
    meter.begin_epoch()
    due = [meter.step(period) for period in (9.0, 8.0, 7.0, *[0.25] * 5)]
    assert due == [False] * 7 + [True]
    reading = meter.close()
    assert (reading.steps, reading.step_ms, reading.step) == (5, 250.0, 8)
    meter.begin_epoch()
    meter.step(6.0)
    assert meter.peek() is None
    assert meter.epoch_start == 6.0
    meter.step(0.5, waited=0.25, examples=64)
    assert meter.peek().examples_per_s == 128
    assert meter.steps == 10


def test_calls_of_several_steps():
    meter = Meter(every=1.0)
    meter.begin_epoch()
    for _ in range(9):
        meter.step(0.4, steps=4, waited=0.1, examples=32)
    reading = meter.peek()
    assert reading.step_ms == pytest.approx(100)
    assert reading.examples_per_s == pytest.approx(80)
    assert reading.input_share.value == pytest.approx(0.25)


def test_a_change_of_level_is_found_where_it_is():
    lot = random.Random(2)
    for at in (5, 10, 22):
        values = [lot.gauss(1.0 if n < at else 2.0, 0.1) for n in range(30)]
        found = shift(values)
        assert found.earliest <= at <= found.latest
        assert found.difference.low <= 1.0 <= found.difference.high
        assert found.latest - found.earliest <= 4


def test_noise_alone_is_no_change():
    lot = random.Random(3)
    found = [
        shift([lot.gauss(1.0, 0.2) for _ in range(lot.randrange(6, 60))])
        for _ in range(400)
    ]
    assert sum(each is not None for each in found) <= 12


@given(st.lists(st.floats(-1e6, 1e6), max_size=40))
def test_any_series_gives_a_change_inside_of_it_or_none(values):
    found = shift(values)
    if found is not None:
        assert 1 <= found.earliest <= found.at <= found.latest < len(values)
        assert found.difference.differs
    steps = [float(n) for n in range(len(values))]
    grown = slope(steps, values)
    assert grown is None or grown.low <= grown.value <= grown.high


def test_growth_has_an_interval():
    lot = random.Random(4)
    seconds = [5.0 * n for n in range(40)]
    leak = slope(seconds, [1e9 + 2e6 * t + lot.gauss(0, 3e6) for t in seconds])
    assert leak.low < 2e6 < leak.high
    assert leak.low > 1e6
    flat = slope(seconds, [1e9 + lot.gauss(0, 3e6) for _ in seconds])
    assert flat.low < 0 < flat.high


def readings(shares, step_ms=20.0, memory=None, epochs=None):
    lot = random.Random(5)
    made = []
    for n, share in enumerate(shares):
        value = min(1.0, max(0.0, share + lot.gauss(0, 0.01)))
        made.append(
            Reading(
                step=100 * (n + 1),
                epoch=(epochs or [1] * 99)[n],
                seconds=5.0 * n,
                steps=100,
                step_ms=(step_ms(n) if callable(step_ms) else step_ms)
                + lot.gauss(0, 0.1),
                input_share=Estimate(value, value - 0.02, value + 0.02, 30),
                memory=memory(n) if memory else None,
            )
        )
    return made


def kinds(found, waits=(), free=8e9):
    return {alarm.kind: alarm for alarm in alarms.look(found, waits, free)}


def test_a_healthy_job_is_left_alone():
    steady = readings([0.03] * 40, memory=lambda n: 1e9 + 1e5 * (n % 3))
    assert kinds(steady, [0.001] * 100) == {}
    assert kinds(steady[:1]) == {}
    assert kinds([]) == {}


def test_waiting_that_begins_late():
    found = kinds(readings([0.02] * 8 + [0.6] * 4, epochs=[1] * 6 + [2] * 6))
    assert set(found) == {"input"}
    assert found["input"].drifted
    assert found["input"].text.startswith("Since epoch 2 (steps 801 to 1,000)") or (
        "Since epoch 2" in found["input"].text
    )


def test_waiting_from_the_start():
    found = kinds(readings([0.5] * 4))
    assert "since its first steps" in found["input"].text
    assert not found["input"].drifted


def test_steps_that_become_slower_are_not_the_inputs_fault():
    found = kinds(readings([0.02] * 12, step_ms=lambda n: 20.0 if n < 7 else 40.0))
    assert set(found) == {"slower"}
    assert "40.0 ms" in found["slower"].text or "39" in found["slower"].text


def test_more_waiting_is_not_told_as_a_slower_step():
    """The rest of the step stays what it was."""
    share = [0.0] * 7 + [0.5] * 7
    found = kinds(readings(share, step_ms=lambda n: 20.0 if n < 7 else 40.0))
    assert set(found) == {"input"}


def test_a_leak_with_the_time_that_is_left():
    leak = readings([0.02] * 30, memory=lambda n: 1e9 + 1e7 * n, epochs=[2] * 30)
    text = kinds(leak)["memory"].text
    assert "per minute" in text
    assert "used up in" in text
    assert "first epoch" not in text
    assert "memory" not in kinds(leak, free=1e15)
    first = readings([0.02] * 30, memory=lambda n: 1e9 + 1e7 * n)
    assert "may be a cache" in kinds(first)["memory"].text


def test_a_cache_that_was_filled_in_the_first_epoch_is_no_leak():
    filled = readings(
        [0.02] * 40,
        memory=lambda n: 1e9 + 1e8 * min(n, 12) + 1e4 * (n % 2),
        epochs=[1] * 13 + [2] * 27,
    )
    assert kinds(filled) == {}


def test_few_steps_that_do_all_the_waiting():
    waits = [0.5 if n % 20 == 0 else 0.001 for n in range(100)]
    assert slowest_tenth(waits) > 0.9
    assert slowest_tenth([1.0] * 100) == pytest.approx(0.1)
    assert slowest_tenth([]) == 0.0
    found = kinds(readings([0.15] * 5), waits)
    assert set(found) == {"straggler"}
    assert kinds(readings([0.15] * 5), [0.01] * 100) == {}
    changed = [0.001] * 92 + [0.5] * 8
    assert kinds(readings([0.15] * 5), changed) == {}


def test_a_line_has_room_on_80_columns():
    wide = Reading(
        10**9, 999, 1e9, 10**6, 1234.5, 987654.0, Estimate(0.99, 0.98, 1.0), 9e11
    )
    assert len(status(wide)) <= 79
    assert len(status(Reading(1, 1, 1.0, 1, 0.01))) <= 79
    assert all(len(line) <= 80 for line in Summary().lines())


def test_the_median_is_the_windows_own():
    meter = Meter(every=100.0)
    meter.begin_epoch()
    periods = [0.1, 0.1, 0.1, 0.2, 0.4, 0.3]
    for period in periods:
        meter.step(period)
    assert meter.peek().step_ms == pytest.approx(1e3 * statistics.median(periods[3:]))
