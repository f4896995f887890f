"""The cause starved-replicas: a job with the fault, and the same without it."""

from __future__ import annotations

import pytest

from tests.causes.build import (
    about,
    step_bound,
)


def test_starved_replicas():
    mirrored = {"strategy": "MirroredStrategy", "replicas": 1}
    slow = step_bound(job=mirrored, what_if={"step:no-strategy": about(4.0)})
    assert slow.names() == ["starved-replicas"]
    assert slow.findings()[0].cost_ms == pytest.approx(6.0)
    worth_it = step_bound(job=mirrored, what_if={"step:no-strategy": about(25.0)})
    assert worth_it.names() == []
    two = {"strategy": "MirroredStrategy", "replicas": 2}
    assert step_bound(job=two, step={"overhead": 9.0}).names() == ["starved-replicas"]
    assert step_bound(job=two, step={"overhead": 1.0}).names() == []
