"""The fix cast-on-device: what it proposes."""

from __future__ import annotations

import pytest

from feedline.job.tfdata.pipeline import TensorSpec
from tests.causes.build import ACCELERATED, AHEAD, BATCH, IMAGE32, part
from tests.fixes.build import looked_at, one, proposed

IMAGE8 = (TensorSpec("uint8", (64, 64, 3)), TensorSpec("int64", ()))


@pytest.mark.parametrize(
    ("ops", "grade"), [(("Cast", "Mul"), "exact"), (("Cast", "Sqrt"), "numeric")]
)
def test_bytes_cross_the_bus_and_the_device_casts(ops, grade):
    source = part("from_tensor_slices", spec=IMAGE8)
    cast = part("map", 1.0, name="cast", spec=IMAGE32, ops=ops)
    how = {"observed": 30.0, "host_fed": 30.0}
    case = looked_at(source, cast, BATCH, AHEAD, machine=ACCELERATED, **how)
    proposal = one("cast-on-device", case)
    assert (proposal.edit.stage, proposal.grade) == (1, grade)
    assert proposed("cast-on-device", looked_at(source, cast, BATCH, **how)) == []
