"""The cause python-in-pipeline: a job with the fault, and the same without it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from feedline.causes.python_in_pipeline import detect
from tests.causes.build import (
    AHEAD,
    BATCH,
    SLICES,
    case,
    part,
)


@pytest.mark.parametrize(
    ("stage", "cost"),
    [
        (part("from_generator", 60.0), 50.0),  # all that the step waits for
        (part("map", 60.0, name="load", python=True), 30.0),  # the rest in processes
        (part("map", 60.0, name="load", python=True, threads=2), 30.0),
    ],
)
def test_python_in_pipeline(stage, cost):
    slow = case(SLICES, stage, BATCH, AHEAD)
    assert slow.names()[0] == "python-in-pipeline"
    assert "serial-map" not in slow.names()
    assert slow.findings()[0].cost_ms == pytest.approx(cost, abs=1.5)
    same = part("map", 60.0, name="load", threads=2)
    assert "python-in-pipeline" not in case(SLICES, same, BATCH, AHEAD).names()


def test_the_wait_is_the_generators_also_where_no_stage_could_be_timed():
    slow = case(part("from_generator", 60.0), AHEAD)
    untimed = replace(slow.measured, stages=())
    (found,) = detect(slow.job, untimed)
    assert found.cost_ms == pytest.approx(50.0, abs=1.5)
    batched = case(part("from_generator", 60.0), BATCH, AHEAD)
    assert not list(detect(batched.job, replace(batched.measured, stages=())))
