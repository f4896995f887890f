"""The cause chatty-callbacks: a job with the fault, and the same without it."""

from __future__ import annotations

from tests.causes.build import (
    step_bound,
)


def test_chatty_callbacks():
    busy = {"observed": 30.0, "host_fed": 30.0, "step": {"host_work": 19.0}}
    slow = step_bound(**busy, job={"callbacks": ("train.Log", "History")})
    assert slow.names() == ["chatty-callbacks"]
    assert "in Log," in slow.findings()[0].evidence
    assert step_bound(**busy, job={"callbacks": ("History",)}).names() == []
    assert step_bound(**busy, job={"callbacks": ("EarlyStopping",)}).names() == []
    assert step_bound(job={"callbacks": ("train.Log",)}).names() == []
