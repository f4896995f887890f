"""The fix cache-before-shuffle: what it proposes, and what its edit changes."""

from __future__ import annotations

import pytest

from feedline import fixes
from feedline.fixes.fix import Edit
from tests.causes.build import BATCH, SLICES, part
from tests.fixes.build import (
    MAP,
    applied,
    chain,
    looked_at,
    names,
    one,
    proposed,
)


def test_what_follows_a_shuffle_is_kept_before_it():
    proposal = one("cache-before-shuffle", names())
    assert (proposal.edit.stage, proposal.edit.args) == (1, {"maps": 1})
    assert proposal.grade == "exact"
    after = chain(applied(names(), proposal))
    ops = [stage.op for stage in after]
    assert ops == ["from_tensor_slices", "map", "cache", "shuffle", "batch"]
    assert [stage.number for stage in after if stage.op == "shuffle"] == [1]
    trial = Edit("cache-before-shuffle", 1, {"maps": 1, "trial": 8})
    ops = [stage.op for stage in chain(fixes.apply(names().pipeline, [trial]))]
    assert ops[1:6] == ["map", "take", "cache", "repeat", "shuffle"]


@pytest.mark.parametrize(
    "looked",
    [
        names(used=[1]),
        names(edits=(Edit("cache-before-shuffle", 1, {"maps": 1}),)),
        names(part("take", count=3)),
        looked_at(SLICES, part("shuffle", random=True), BATCH, MAP, epochs=5),
        looked_at(
            *(SLICES, part("shuffle", random=True)),
            *(part("map", 50.0, name="f", random=True), BATCH),
            epochs=5,
        ),
        looked_at(
            part("list_files", random=True),
            *(part("shuffle", random=True), MAP, BATCH),
            epochs=5,
        ),
    ],
    ids=["read", "cached", "broken off", "no map", "random map", "random before"],
)
def test_no_cache_before_shuffle(looked):
    assert proposed("cache-before-shuffle", looked) == []
