"""The cause wide-transfer: a job with the fault, and the same without it."""

from __future__ import annotations

import pytest

from feedline.job.tfdata.pipeline import TensorSpec
from tests.causes.build import (
    ACCELERATED,
    AHEAD,
    BATCH,
    IMAGE32,
    case,
    part,
)

IMAGE8 = (TensorSpec("uint8", (64, 64, 3)), TensorSpec("int64", ()))


def test_wide_transfer():
    cast = part("map", 1.0, name="cast", spec=IMAGE32)
    source = part("from_tensor_slices", spec=IMAGE8)
    how = {"observed": 30.0, "host_fed": 30.0}
    slow = case(source, cast, BATCH, AHEAD, machine=ACCELERATED, **how)
    assert slow.names() == ["wide-transfer"]
    assert slow.findings()[0].cost_ms == pytest.approx(15.0, rel=0.01)
    assert "wide-transfer" not in case(source, cast, BATCH, AHEAD, **how).names()
    floats = part("from_tensor_slices", spec=IMAGE32)
    healthy = case(floats, cast, BATCH, AHEAD, machine=ACCELERATED, **how)
    assert "wide-transfer" not in healthy.names()
