"""The fix parallel-batch: what it proposes, and what its edit changes."""

from __future__ import annotations

from tests.causes.build import SLICES, part
from tests.fixes.build import (
    applied,
    chain,
    costs_by_index,
    looked_at,
    one,
    proposed,
)


def test_a_batch_is_put_together_on_several_cores():
    looked = looked_at(SLICES, part("batch", 20.0, batch_size=32))
    proposal = one("parallel-batch", looked)
    assert (proposal.edit.stage, proposal.grade) == (1, "exact")
    assert costs_by_index(proposal)[1].parallelism == 2
    assert chain(applied(looked, proposal))[1].args == {
        "batch_size": 32,
        "num_parallel_calls": -1,
    }
    done = looked_at(SLICES, part("batch", 20.0, batch_size=32, num_parallel_calls=2))
    assert proposed("parallel-batch", done) == []
