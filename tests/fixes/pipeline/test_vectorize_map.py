"""The fix vectorize-map: what it proposes, and what its edit changes."""

from __future__ import annotations

from tests.causes.build import BATCH, SLICES, about, part
from tests.fixes.build import (
    MAP,
    costs_by_index,
    looked_at,
    one,
    proposed,
)


def test_vectorize_takes_the_map_that_was_tried():
    cheap = part("map", 1.0, name="cheap")
    looked = looked_at(
        SLICES, cheap, MAP, BATCH, what_if={"input:vectorized": about(4.0)}
    )
    proposal = one("vectorize-map", looked)
    assert (proposal.edit.stage, proposal.grade) == (2, "exact")
    whole = costs_by_index(proposal)[2]
    assert (whole.ms_per_batch, whole.elements_per_batch) == (4.0, 1.0)
    assert proposed("vectorize-map", looked_at(SLICES, MAP, BATCH)) == []
