"""The fix crop-first: what it proposes."""

from __future__ import annotations

from tests.causes.build import BATCH, SLICES, part
from tests.fixes.build import looked_at, one, proposed


def test_colours_are_shifted_after_the_crop():
    colours = part("map", 50.0, name="f", ops=("AdjustHue", "Slice"))
    proposal = one("crop-first", looked_at(SLICES, colours, BATCH))
    assert (proposal.edit.stage, proposal.grade) == (1, "exact")
    plain = part("map", 50.0, name="f", ops=("AdjustHue",))
    assert proposed("crop-first", looked_at(SLICES, plain, BATCH)) == []
