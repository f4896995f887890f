"""The cause full-softmax: a job with the fault, and the same without it."""

from __future__ import annotations

from feedline.measure.measurement import (
    SoftmaxCost,
)
from tests.causes.build import (
    step_bound,
)


def test_full_softmax():
    slow = step_bound(softmax=SoftmaxCost("dense", 50_000, 8.0, 0.5))
    assert slow.names() == ["full-softmax"]
    assert "50,000 classes" in slow.findings()[0].evidence
    healthy = step_bound(softmax=SoftmaxCost("dense", 10, 0.1, 0.1))
    assert healthy.names() == []
