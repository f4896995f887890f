"""The cause precision: a job with the fault, and the same without it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from feedline.job.job import Layer
from tests.causes.build import (
    ACCELERATED,
    ODD,
    TENSOR_CORES,
    step_bound,
)


def test_precision():
    matmul = replace(ODD, padded=None, half=1.0)
    slow = step_bound(machine=TENSOR_CORES, matmuls=(matmul,))
    assert slow.names() == ["precision"]
    assert slow.findings()[0].cost_ms == pytest.approx(3.0)
    half = {"layers": (Layer("dense", "Dense", compute_dtype="float16"),)}
    assert step_bound(machine=TENSOR_CORES, matmuls=(matmul,), job=half).names() == []
    assert step_bound(machine=ACCELERATED, matmuls=(matmul,)).names() == []
