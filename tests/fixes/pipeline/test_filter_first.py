"""The fix filter-first: what it proposes, and what its edit changes."""

from __future__ import annotations

import pytest

from tests.causes.build import BATCH, SLICES, part
from tests.fixes.build import (
    MAP,
    costs_by_index,
    looked_at,
    one,
    proposed,
)


def test_a_filter_behind_an_expensive_map():
    keep = part("filter", 0.1, name="keep", elements=8.0)
    looked = looked_at(SLICES, MAP, keep, BATCH)
    proposal = one("filter-first", looked)
    assert (proposal.edit.stage, proposal.grade) == (2, "exact")
    assert costs_by_index(proposal)[1].ms_per_batch == pytest.approx(50.0 / 4)


@pytest.mark.parametrize(
    "parts",
    [
        (SLICES, MAP, part("filter", 0.1, name="keep"), BATCH),
        (
            SLICES,
            part("map", 50.0, name="f", random=True),
            part("filter", 0.1, name="keep", elements=8.0),
            BATCH,
        ),
        (SLICES, part("filter", 0.1, name="keep", elements=8.0), MAP, BATCH),
    ],
    ids=["throws nothing away", "random", "first already"],
)
def test_no_filter_first(parts):
    assert proposed("filter-first", looked_at(*parts)) == []
