"""The cause small-batch: a job with the fault, and the same without it."""

from __future__ import annotations

import pytest

from tests.causes.build import (
    step_bound,
)


def test_small_batch():
    flat = ((16, 9.5), (32, 10.0), (64, 11.0), (128, 13.0))
    slow = step_bound(step={"curve": flat})
    assert slow.names() == ["small-batch"]
    assert slow.findings()[0].cost_ms == pytest.approx(10 - 13 / 4)
    steep = ((16, 5.5), (32, 10.0), (64, 19.0), (128, 37.0))
    assert "small-batch" not in step_bound(step={"curve": steep}).names()
    assert "small-batch" not in step_bound(step={"curve": flat[:2]}).names()
