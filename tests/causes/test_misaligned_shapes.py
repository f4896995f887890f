"""The cause misaligned-shapes: a job with the fault, and the same without it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.causes.build import (
    ACCELERATED,
    ODD,
    TENSOR_CORES,
    step_bound,
)


def test_misaligned_shapes():
    slow = step_bound(machine=TENSOR_CORES, matmuls=(ODD,))
    assert slow.names() == ["misaligned-shapes"]
    assert slow.findings()[0].cost_ms == pytest.approx(1.5)
    even = replace(ODD, shape=(128, 104, 50_264))
    assert step_bound(machine=TENSOR_CORES, matmuls=(even,)).names() == []
    assert step_bound(machine=ACCELERATED, matmuls=(ODD,)).names() == []
