"""The fix scaled-decode: what it proposes, and what its edit changes."""

from __future__ import annotations

from tests.causes.build import BATCH, SLICES, part
from tests.fixes.build import (
    looked_at,
    one,
    proposed,
)


def test_jpegs_that_are_made_smaller_are_decoded_small():
    decode = part("map", 50.0, name="f", ops=("DecodeJpeg", "ResizeBilinear"))
    proposal = one("scaled-decode", looked_at(SLICES, decode, BATCH))
    assert (proposal.edit.stage, proposal.grade) == (1, "numeric")
    plain = part("map", 50.0, name="f", ops=("DecodeJpeg",))
    assert proposed("scaled-decode", looked_at(SLICES, plain, BATCH)) == []
