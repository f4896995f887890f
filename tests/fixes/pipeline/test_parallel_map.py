"""The fix parallel-map: what it proposes, and what its edit changes."""

from __future__ import annotations

import pytest

from feedline import fixes
from feedline.fixes.fix import CannotFix, Edit
from tests.causes.build import BATCH, SLICES, part
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

WRITES = "AssignAddVariableOp"


def test_a_serial_map_runs_on_all_cores():
    looked = looked_at(SLICES, MAP, BATCH)
    proposal = one("parallel-map", looked)
    assert proposal.edit == Edit("parallel-map", 1, {})
    assert proposal.grade == "exact"
    assert proposal.where == looked.stage(1).where
    wide = costs_by_index(proposal)[1]
    assert (wide.asynchronous, wide.parallelism) == (True, 2)
    assert wide.ms_per_batch == 50.0  # no work is spared
    changed = chain(applied(looked, proposal))
    assert changed[1].args["num_parallel_calls"] == -1
    assert [s.number for s in changed] == [0, 1, 2]


def test_draws_under_a_seed_are_split_off_others_are_not():
    free = part("map", 50.0, name="augment", random=True)
    proposal = one("parallel-map", looked_at(SLICES, free, BATCH))
    assert proposal.edit.args == {}
    seeded = of_function(free, seeded=True)
    proposal = one("parallel-map", looked_at(SLICES, seeded, BATCH))
    assert proposal.edit.args == {"split": True}


@pytest.mark.parametrize(
    "load",
    [
        part("map", 50.0, name="load", python=True),
        part("map", 50.0, name="load", threads=2),
        part("map", 50.0, name="load", num_parallel_calls=-1),
        part("map", 50.0, name="load", synchronous=True),
        part("map", 50.0, name="load", random=True, ops=(WRITES,)),
        of_function(MAP, stateful=True),
    ],
    ids=["python", "runs parallel", "parallel", "synchronous", "writes", "stateful"],
)
def test_a_map_that_may_not_or_need_not_be_parallel(load):
    assert proposed("parallel-map", looked_at(SLICES, load, BATCH)) == []


def test_what_was_read_from_already_stays():
    shuffle = part("shuffle", buffer_size=10)
    looked = looked_at(SLICES, MAP, shuffle, BATCH, used=[2])
    for name in ("parallel-map", "shuffle-ids", "cache", "vectorize-map"):
        assert proposed(name, looked) == []
    behind = looked_at(SLICES, shuffle, MAP, BATCH, used=[1])
    assert one("parallel-map", behind).edit.stage == 2


@pytest.mark.parametrize("stage", [0, 2, 99, None])
def test_parallel_map_of_what_is_no_map_is_refused(stage):
    looked = looked_at(SLICES, MAP, BATCH)
    with pytest.raises(CannotFix):
        fixes.apply(looked.pipeline, [Edit("parallel-map", stage)])
