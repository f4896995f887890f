"""The cause launch-overhead: a job with the fault, and the same without it."""

from __future__ import annotations

import pytest

from tests.causes.build import (
    about,
    step_bound,
)


def test_launch_overhead():
    tried = step_bound(what_if={"step:steps-per-execution": about(3.0)})
    assert tried.names() == ["launch-overhead"]
    assert tried.findings()[0].cost_ms == pytest.approx(7.0)
    assert step_bound(step={"overhead": 8.0}).names() == ["launch-overhead"]
    no_gain = step_bound(
        step={"overhead": 8.0}, what_if={"step:steps-per-execution": about(9.9)}
    )
    assert "launch-overhead" not in no_gain.names()
    beside = step_bound(  # what ran in the same turns counts, not the ceiling
        what_if={
            "step:steps-per-execution": about(3.0),
            "step:as-is": about(3.0),
        }
    )
    assert "launch-overhead" not in beside.names()
    has_it = step_bound(step={"overhead": 8.0}, job={"steps_per_execution": 16})
    assert "launch-overhead" not in has_it.names()


def test_what_launching_explains_is_not_the_batch():
    both = step_bound(
        step={"curve": ((32, 10.0), (128, 12.0))},
        what_if={"step:steps-per-execution": about(3.0)},
    )
    assert both.names() == ["launch-overhead"]


def test_what_fit_does_between_two_steps_is_overhead_of_the_launch():
    busy = {"observed": 10.0, "step": {"host_work": 8.0, "overhead": 9.0}}
    tried = {"step:steps-per-execution": about(1.9), "step:as-is": about(2.0)}
    slow = step_bound(**busy, what_if=tried)
    assert slow.names() == ["launch-overhead"]
    assert slow.findings()[0].cost_ms == pytest.approx(7.6)
    users = step_bound(**busy, what_if=tried, job={"callbacks": ("Log",)})
    assert users.names()[0] == "chatty-callbacks"
