"""The fix augment-on-device: what it proposes."""

from __future__ import annotations

from tests.causes.build import ACCELERATED, AHEAD, BATCH, IMAGE32, SLICES, augment
from tests.fixes.build import looked_at, one, proposed


def test_random_maps_of_pictures_move_into_the_step():
    parts = (SLICES, augment(threads=2, spec=IMAGE32), BATCH, AHEAD)
    case = looked_at(*parts, observed=40.0, machine=ACCELERATED)
    proposal = one("augment-on-device", case)
    assert (proposal.edit.stage, proposal.grade) == (1, "numeric")
    assert proposed("augment-on-device", looked_at(*parts, observed=40.0)) == []
