"""The fix shuffle-ids: what it proposes, and what its edit changes."""

from __future__ import annotations

from tests.causes.build import BATCH, SLICES, part
from tests.fixes.build import (
    MAP,
    looked_at,
    one,
    proposed,
)


def test_a_shuffle_of_large_things_whose_epochs_start_slowly():
    shuffle = part("shuffle", 5.0, buffer_size=1000)
    looked = looked_at(SLICES, MAP, shuffle, BATCH, step={"epoch_start": 20.0})
    proposal = one("shuffle-ids", looked)
    assert (proposal.edit.stage, proposal.grade) == (2, "exact")
    assert proposal.note == "epoch start"
    quick = looked_at(SLICES, MAP, shuffle, BATCH)
    assert proposed("shuffle-ids", quick) == []
    first = looked_at(SLICES, shuffle, MAP, BATCH, step={"epoch_start": 20.0})
    assert proposed("shuffle-ids", first) == []


def test_a_prefetch_between_the_map_and_the_shuffle():
    shuffle, ready = part("shuffle", 5.0, buffer_size=1000), part("prefetch", 0.1)
    looked = looked_at(SLICES, MAP, ready, shuffle, BATCH, step={"epoch_start": 20.0})
    assert one("shuffle-ids", looked).edit.stage == 3
