"""From a measurement to a report: ranked, rounded, nothing lost."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedline.causes.finding import Finding
from feedline.job.job import Job
from feedline.job.tfdata.pipeline import Function, Pipeline, Stage, Where
from feedline.measure.measurement import (
    Estimate,
    Line,
    Machine,
    Measurement,
    RunTimes,
    StageCost,
    StepTimes,
)
from feedline.report.build import make
from feedline.report.json import from_json, to_json
from feedline.report.report import SHARES
from feedline.report.rounding import tidy, tidy_shares

LOAD = Where("/home/u/train.py", 41, "  images = files.map(load)")
BATCH = Where("/home/u/train.py", 42, "images.batch(32)")


def exactly(value: float) -> Estimate:
    return Estimate(value, value, value)


def job() -> Job:
    source = Stage("list_files")
    mapped = Stage("map", (source,), functions=(Function("load"),), where=LOAD)
    root = Stage("batch", (mapped,), {"batch_size": 32}, where=BATCH)
    return Job(
        "fit",
        where=Where("train.py", 60),
        pipeline=Pipeline(root),
        epochs=3,
        steps_per_epoch=100,
        notes=("a second loop was seen",),
    )


def measurement() -> Measurement:
    return Measurement(
        machine=Machine(2, 23.9876543, 10.0),
        step=StepTimes(
            exactly(84.21987),
            exactly(10.9),
            exactly(9.1),
            batch_size=32,
            steps=120,
            overhead=5.05,
            epoch_start=2.0,
        ),
        run=RunTimes(8.1, 10.23456, 1.4, 55.0, 18.0, (Line(LOAD, 7.912345),)),
        stages=(
            StageCost(0, "list_files", ms_per_batch=0.3),
            StageCost(1, "map", LOAD, 2.1, 67.0, 0.92, 602112.0),
            StageCost(2, "batch", BATCH, 9.0, 9.0, 0.07),
            StageCost(9, "prefetch", injected=True),
        ),
        unknown=("the curve",),
    )


def report(*findings: Finding):
    return make(
        job(),
        measurement(),
        findings,
        {"serial-map": "A map runs on one core"},
        script="train.py",
        version="0.1.0",
        seconds=41.04321,
    )


SERIAL = Finding("serial-map", 61.0, "evidence", LOAD, ("parallel-map",))


def test_everything_measured_is_in_the_report():
    made = report(SERIAL)
    assert made.step.observed_ms == 84.22
    assert made.step.host_fed_ms == 10.9
    assert made.machine.memory_gb == 23.99
    assert made.run.slowest_lines[0].where == "train.py:41"
    assert made.run.epoch_start_s == pytest.approx(0.2)
    assert made.bound == "input"
    assert made.loop == "fit at train.py:60"
    assert made.unknown == ("the curve",)
    assert made.notes == ("a second loop was seen",)
    assert [stage.name for stage in made.stages][:2] == ["list_files", "map"]
    assert [stage.label for stage in made.stages] == [
        "list_files()",
        "map(load)",
        "batch(32)",
        "prefetch",
    ]
    assert made.findings[0].code == "images = files.map(load)"
    assert made.verdict == (
        "The model waits for input 87 % of the time: train.py:41 `map(load)`: "
        "a map runs on one core."
    )
    assert from_json(to_json(made)) == made


def test_passes_that_waited_at_their_end_are_told_where_there_are_several():
    measured = replace(measurement(), ends=(0.001, 0.4, 0.002, 0.6, 0.5))

    def run_of(job):
        made = make(job, measured, [], {}, script="", version="0", seconds=1.0)
        assert from_json(to_json(made)) == made
        return made.run

    run = run_of(Job("fit", epochs=3))
    assert (run.passes_ended, run.passes_waited, run.pass_end_wait_s) == (5, 3, 0.5)
    assert run.ends_wait
    assert not replace(run, passes_waited=2).ends_wait  # that may be chance
    assert run_of(Job("fit", epochs=1)).passes_ended is None
    assert run_of(Job("fit", epochs=3, restarts=False)).passes_ended is None


def test_findings_are_ranked_by_cost():
    made = report(
        Finding("no-prefetch", 8.0, ""),
        Finding("frozen-randomness", 0.0, ""),
        SERIAL,
        Finding("small-batch", math.nan, ""),
    )
    costs = [finding.cost_ms for finding in made.findings]
    assert costs == [61.0, 8.0, 0.0, 0.0]


def test_a_job_without_a_pipeline_has_a_report():
    made = make(Job("loop"), measurement(), [], {}, script="", version="0", seconds=1.0)
    assert made.loop == "loop"
    assert made.run.epoch_start_s is None


@given(
    st.fixed_dictionaries(
        {name: st.floats(allow_nan=True, allow_infinity=True) for name in SHARES}
    )
    | st.fixed_dictionaries({name: st.floats(0, 1) for name in SHARES})
)
def test_shares_sum_to_one_and_are_never_negative(shares):
    tidied = tidy_shares(shares)
    assert set(tidied) == set(SHARES)
    assert all(0 <= share <= 1 for share in tidied.values())
    assert abs(sum(tidied.values()) - 1) < 1e-9


@pytest.mark.parametrize(
    ("raw", "rounded"),
    [(84.21987, 84.22), (0.0123456, 0.01235), (123456.7, 123457.0), (0.0, 0.0)],
)
def test_rounding_keeps_what_matters(raw, rounded):
    assert tidy(raw) == rounded
