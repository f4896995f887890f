"""The cause retracing: a job with the fault, and the same without it."""

from __future__ import annotations

from dataclasses import replace

from feedline.job.job import Retrace
from feedline.job.tfdata.pipeline import Where
from tests.causes.build import (
    step_bound,
)


def test_retracing():
    again = Retrace("train_step", Where("train.py", 7), 14, "a new shape")
    slow = step_bound(observed=60.0, host_fed=60.0, job={"retraces": (again,)})
    assert "retracing" not in slow.names()  # it took no time
    slow = replace(slow, measured=replace(slow.measured, trace_ms=40.0))
    assert slow.names() == ["retracing"]
    assert str(slow.findings()[0].where) == "train.py:7"
    assert "traced 14 times" in slow.findings()[0].evidence
    assert step_bound(trace_ms=40.0).names() == []
