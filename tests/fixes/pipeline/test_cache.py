"""The fix cache: what it proposes, and what its edit changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from feedline import fixes
from feedline.fixes.fix import Edit
from tests.causes.build import BATCH, HOST, SLICES, part
from tests.fixes.build import (
    MAP,
    applied,
    chain,
    costs_by_index,
    looked_at,
    of_function,
    one,
    proposed,
)

PYTHON = part("map", 50.0, name="f", python=True)


SHUFFLE = part("shuffle", 0.1, buffer_size=10)


def test_a_cache_stands_before_the_shuffle():
    looked = looked_at(SLICES, MAP, SHUFFLE, BATCH, epochs=3)
    proposal = one("cache", looked)
    assert proposal.edit == Edit("cache", 1, {"on_disk": False})
    assert proposal.grade == "exact"
    costs = costs_by_index(proposal)
    assert [costs[n].ms_per_batch for n in range(4)] == [0.0, 0.0, 0.1, 0.1]
    ops = [stage.op for stage in chain(applied(looked, proposal))]
    assert ops == ["from_tensor_slices", "map", "cache", "shuffle", "batch"]


def test_a_cache_that_does_not_fit_into_memory_goes_to_disk_or_nowhere():
    tight = replace(HOST, free_memory_gb=0.001, free_disk_gb=50.0)
    looked = looked_at(SLICES, MAP, BATCH, epochs=3, machine=tight)
    assert one("cache", looked).edit.args == {"on_disk": True}
    full = replace(tight, free_disk_gb=0.001)
    looked = looked_at(SLICES, MAP, BATCH, epochs=3, machine=full)
    assert proposed("cache", looked) == []


@pytest.mark.parametrize(
    ("parts", "more"),
    [
        ((SLICES, MAP, BATCH), {"epochs": 1}),
        ((SLICES, MAP, BATCH), {"epochs": 3, "job": {"restarts": False}}),
        ((SLICES, part("map", 50.0, name="f", random=True), BATCH), {"epochs": 3}),
        ((SLICES, of_function(PYTHON, pure=False), BATCH), {"epochs": 3}),
        ((SLICES, MAP, SHUFFLE, BATCH, part("take", count=5)), {"epochs": 3}),
        ((SLICES, MAP, part("cache", filename=""), BATCH), {"epochs": 3}),
        ((SLICES, MAP, BATCH), {"epochs": 3, "cardinality": -2, "job": {
            "steps_per_epoch": None}}),
        ((SLICES, MAP, BATCH), {"epochs": 3, "edits": (Edit("cache", 0),)}),
    ],
    ids=[
        "one epoch", "read on", "random", "python", "broken off", "cached already",
        "nobody knows how long", "already in the plan",
    ],
)  # fmt: skip
def test_no_cache(parts, more):
    assert proposed("cache", looked_at(*parts, **more)) == []


def test_python_whose_code_keeps_no_state_may_be_cached():
    looked = looked_at(SLICES, of_function(PYTHON, pure=True), BATCH, epochs=3)
    assert one("cache", looked).grade == "exact"


def test_a_cache_on_trial_holds_a_part_and_repeats_it():
    looked = looked_at(SLICES, MAP, BATCH, epochs=3)
    trial = Edit("cache", 1, {"on_disk": True, "trial": 8})
    ops = [s.op for s in chain(fixes.apply(looked.pipeline, [trial]))]
    assert ops == ["from_tensor_slices", "map", "take", "cache", "repeat", "batch"]
