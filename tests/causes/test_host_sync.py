"""The cause host-sync: a job with the fault, and the same without it."""

from __future__ import annotations

import pytest

from tests.causes.build import (
    step_bound,
)


@pytest.mark.parametrize("kind", ["loop", "function", "iterator"])
def test_host_sync(kind):
    slow = step_bound(
        observed=30.0,
        host_fed=30.0,
        step={"host_work": 19.0},
        job={"kind": kind, "syncs_per_step": 2.0},
    )
    assert slow.names() == ["host-sync"]
    assert "reads 2.0 values" in slow.findings()[0].evidence
    assert step_bound(job={"kind": kind, "syncs_per_step": 2.0}).names() == []
