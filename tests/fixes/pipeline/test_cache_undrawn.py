"""The fix cache-undrawn: what it proposes."""

from __future__ import annotations

from dataclasses import replace

from feedline.fixes.fix import Edit
from tests.causes.build import BATCH, SLICES, part
from tests.fixes.build import looked_at, one, proposed

DRAWS = part("map", 50.0, name="augment", random=True)


def test_what_a_random_map_does_first_is_kept():
    read = replace(DRAWS, stage=replace(DRAWS.stage, handle=object()))
    proposal = one("cache-undrawn", looked_at(SLICES, read, BATCH, epochs=3))
    assert (proposal.edit.stage, proposal.grade) == (1, "exact")
    assert proposal.edit.args["most"] > 0
    for other in (
        looked_at(SLICES, DRAWS, BATCH, epochs=3),  # not read from a dataset
        looked_at(SLICES, read, BATCH, epochs=1),
        looked_at(SLICES, read, BATCH, epochs=3, edits=(Edit("cache", 0),)),
        looked_at(part("opaque"), read, BATCH, epochs=3),
    ):
        assert proposed("cache-undrawn", other) == []
