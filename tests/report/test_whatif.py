"""The what-if model: it repeats what was measured, and obeys its laws elsewhere."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedline.report.fitted import model_of
from feedline.report.report import StageRow
from feedline.report.whatif import MARGIN, expect, need
from tests.report.pages import captured, cured, measured, stages
from tests.report.samples import reports


def stage(ms: float, **more) -> StageRow:
    return StageRow("map", None, ms, 0.5, 0.0, ms, **more)


def test_at_the_first_place_it_repeats_the_measurement():
    model = model_of(cured())
    assert model is not None
    as_it_is, fixed, _ = model.scenarios
    assert expect(model, as_it_is, 2, 1, 20).step_ms == pytest.approx(84.2)
    assert expect(model, fixed, 2, 1, 20).step_ms == pytest.approx(10.4)


@given(reports())
@settings(max_examples=60, deadline=None)
def test_any_report_with_a_model_repeats_its_measurement(report):
    model = model_of(report)
    if model is None:
        return
    found = expect(model, model.scenarios[0], model.cores, 1, model.epochs)
    assert found.step_ms == pytest.approx(report.step.observed_ms, rel=1e-3, abs=1e-5)


def test_one_thread_gains_nothing_from_more_cores():
    model = model_of(measured())
    assert model is not None
    now, more = (expect(model, model.scenarios[0], n, 1, 20) for n in (2, 64))
    assert more.step_ms == pytest.approx(now.step_ms, rel=0.05)
    assert more.limit == "stages"
    assert 1 in more.stages


def test_a_faster_device_does_not_help_a_job_that_waits_for_input():
    model = model_of(measured())
    assert model is not None
    now, fast = (expect(model, model.scenarios[0], 2, s, 20) for s in (1, 10))
    assert now.step_ms - fast.step_ms <= 9.1
    assert fast.alone_ms == pytest.approx(5.0 + 4.1 / 10 + 1.8)


def test_spread_over_the_cores_that_it_asks_for_the_device_is_fed():
    model = model_of(measured())
    assert model is not None
    for speed in (0.5, 1, 2, 10):
        wanted = need(model, speed)
        assert wanted.cores is not None
        enough = expect(model, model.scenarios[-1], wanted.cores, speed, 20)
        start = model.scenarios[-1].start_ms
        assert enough.step_ms - start <= MARGIN * enough.alone_ms * (1 + 1e-9)
        fewer = expect(model, model.scenarios[-1], wanted.cores - 1, speed, 20)
        assert fewer.step_ms - start > MARGIN * fewer.alone_ms


def test_workers_are_machines_like_this_one():
    model = model_of(measured())
    assert model is not None
    wanted = need(model, 10)
    assert wanted.cores is not None
    assert wanted.workers == math.ceil((wanted.cores - 2) / 2)


def test_python_cannot_be_spread():
    source, load, batch = stages()
    model = model_of(measured(stages=(source, replace(load, python=True), batch)))
    assert model is not None
    wanted = need(model, 1)
    assert wanted.cores is None
    assert wanted.blocked_by == 1


def test_threads_that_tensorflow_chooses_grow_with_the_cores():
    wide = stage(80.0, ahead=True, tuned=True, parallelism=2)
    set_ = stage(80.0, ahead=True, tuned=False, parallelism=2)
    for row, gains in ((wide, True), (set_, False)):
        model = model_of(measured(stages=(row,)))
        assert model is not None
        two, eight = (expect(model, model.scenarios[0], n, 1, 1) for n in (2, 8))
        assert (eight.step_ms < 0.5 * two.step_ms) == gains


def test_a_cache_pays_the_first_epoch():
    model = model_of(cured())
    assert model is not None
    fixed = model.scenarios[1]
    one, many = (expect(model, fixed, 2, 1, epochs) for epochs in (1, 100))
    assert one.mean_ms == one.first_ms > 3 * one.step_ms
    assert many.mean_ms < 1.1 * many.step_ms + 0.05 * many.first_ms
    assert many.total_s is not None
    assert many.total_s == pytest.approx(
        8.1 + 10.2 + 1.4 + 100 * 100 * many.mean_ms / 1e3
    )


def test_steps_of_an_epoch_are_those_that_were_seen():
    report = cured()
    report = replace(report, run=replace(report.run, steps_per_epoch=None))
    model = model_of(report)
    assert model is not None
    assert model.steps_per_epoch == 100


def test_without_stages_there_is_no_model():
    assert model_of(captured()) is None
    nothing = replace(measured().step, observed_ms=math.nan)
    assert model_of(measured(step=nothing)) is None


@given(
    st.lists(st.floats(0, 200), min_size=1, max_size=6),
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from([0.5, 1, 3, 10]),
)
@settings(max_examples=60, deadline=None)
def test_more_never_makes_it_slower(costs, cores, speed):
    model = model_of(measured(stages=tuple(stage(ms, tuned=True) for ms in costs)))
    assert model is not None
    for scenario in model.scenarios:
        here = expect(model, scenario, cores, speed, 3)
        assert expect(model, scenario, 2 * cores, speed, 3).step_ms <= here.step_ms
        assert expect(model, scenario, cores, 2 * speed, 3).step_ms <= here.step_ms
        assert here.step_ms >= here.alone_ms * (1 - 1e-9)
