"""The fix mixed-precision: what it proposes, and what its edit changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from feedline.measure.measurement import MatmulCost
from tests.causes.build import HOST
from tests.fixes.build import (
    looked,
    one,
    proposed,
)


def test_half_precision_where_tensor_cores_were_measured_faster():
    products = (MatmulCost("dense", (8, 8, 8), 6.0, half=2.0),)
    machine = replace(HOST, tensor_cores=True)
    proposal = one("mixed-precision", looked(matmuls=products, machine=machine))
    assert (proposal.grade, proposal.step_ms) == ("numeric", pytest.approx(6.0))
    assert proposed("mixed-precision", looked(matmuls=products)) == []
