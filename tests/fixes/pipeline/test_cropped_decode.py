"""The fix cropped-decode: what it proposes, and what its edit changes."""

from __future__ import annotations

from tests.causes.build import BATCH, SLICES, part
from tests.fixes.build import (
    looked_at,
    one,
    proposed,
)


def test_jpegs_of_which_a_part_is_cut_out_are_decoded_in_that_part():
    decode = part("map", 50.0, name="f", ops=("DecodeJpeg", "Slice"))
    proposal = one("cropped-decode", looked_at(SLICES, decode, BATCH))
    assert (proposal.edit.stage, proposal.grade) == (1, "numeric")
    plain = part("map", 50.0, name="f", ops=("DecodeJpeg",))
    assert proposed("cropped-decode", looked_at(SLICES, plain, BATCH)) == []
