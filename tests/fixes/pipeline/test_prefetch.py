"""The fix prefetch: what it proposes, and what its edit changes."""

from __future__ import annotations

import pytest

from tests.causes.build import AHEAD, BATCH, SLICES, part
from tests.fixes.build import (
    MAP,
    applied,
    looked_at,
    of_function,
    one,
    proposed,
)


def test_prefetch_goes_to_the_end():
    looked = looked_at(SLICES, MAP, BATCH)
    proposal = one("prefetch", looked)
    assert proposal.grade == "exact"
    assert proposal.costs is not None
    assert proposal.costs[:-1] == looked.costs
    root = applied(looked, proposal).root
    assert (root.op, root.args, root.number) == ("prefetch", {"buffer_size": -1}, -1)
    assert root.inputs == (looked.pipeline.root,)


@pytest.mark.parametrize(
    "parts",
    [
        (SLICES, MAP, BATCH, part("prefetch", ahead=True, buffer_size=1)),
        (SLICES, BATCH, part("prefetch", buffer_size=1), part("with_options")),
        (SLICES, MAP, BATCH, AHEAD),
    ],
    ids=["there", "there, with options", "TensorFlow's own"],
)
def test_no_second_prefetch(parts):
    assert proposed("prefetch", looked_at(*parts)) == []


def test_no_prefetch_where_the_pipeline_reads_a_variable():
    reads = of_function(MAP, stateful=True)
    assert proposed("prefetch", looked_at(SLICES, reads, BATCH)) == []
    draws = of_function(MAP, stateful=True, random=True)
    assert proposed("prefetch", looked_at(SLICES, draws, BATCH))
