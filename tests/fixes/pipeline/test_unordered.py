"""The fix unordered: what it proposes, and what its edit changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from feedline import fixes
from feedline.fixes.fix import CannotFix, Edit
from feedline.job.tfdata.pipeline import Stage
from tests.causes.build import BATCH, SLICES, about, part
from tests.fixes.build import (
    MAP,
    applied,
    chain,
    costs_by_index,
    files,
    looked_at,
    of_function,
    one,
    proposed,
)

WIDE = part("map", 50.0, name="load", threads=2, num_parallel_calls=2)


def test_parallel_stages_without_order():
    tried = {"input:as-is": about(30.0), "input:unordered": about(10.0)}
    looked = looked_at(SLICES, WIDE, BATCH, what_if=tried)
    proposal = one("unordered", looked)
    assert (proposal.edit, proposal.grade) == (Edit("unordered"), "reordered")
    assert costs_by_index(proposal)[1].ms_per_batch == pytest.approx(50.0 / 3)
    assert applied(looked, proposal).options == {"deterministic": False}
    no_gain = {**tried, "input:unordered": about(30.0)}
    assert proposed("unordered", looked_at(SLICES, WIDE, BATCH, what_if=no_gain)) == []
    assert proposed("unordered", looked_at(SLICES, MAP, BATCH, what_if=tried)) == []


@pytest.mark.parametrize(
    "later",
    [
        of_function(part("map", 1.0, name="f", random=True), seeded=True),
        of_function(part("map", 1.0, name="f"), stateful=True),
        part("map", 1.0, name="f", python=True),
        part("take", 1.0, count=10),
        part("enumerate", 1.0),
        part("padded_batch", 1.0, batch_size=4),
        part("batch", 1.0, batch_size=4, drop_remainder=True),
        part("sample_from_datasets", 1.0, stop_on_empty_dataset=True),
    ],
    ids=lambda later: later.stage.op,
)
def test_the_order_is_kept_where_it_decides_which_elements_there_are(later):
    tried = {"input:as-is": about(30.0), "input:unordered": about(10.0)}
    looked = looked_at(SLICES, WIDE, later, BATCH, what_if=tried)
    assert proposed("unordered", looked) == []
    with pytest.raises(CannotFix, match="would make other elements"):
        fixes.apply(looked.pipeline, [Edit("unordered")])
    before = looked_at(SLICES, later, WIDE, BATCH, what_if=tried)
    mapped = later.stage.op == "map"  # which TensorFlow may run in parallel by itself
    assert bool(proposed("unordered", before)) == (not mapped)
    records = looked_at(files("tfrecord", compression_type=""), later, BATCH)
    (ahead,) = proposed("interleave", records)
    assert ahead.edit.args["way"] == "ahead"


def test_draws_that_no_seed_fixes_may_come_in_any_order():
    tried = {"input:as-is": about(30.0), "input:unordered": about(10.0)}
    free = part("map", 1.0, name="augment", random=True)
    assert one("unordered", looked_at(SLICES, WIDE, free, BATCH, what_if=tried))


def test_no_order_is_also_asked_of_stages_that_insist_on_it():
    insists = part(
        "map", 50.0, name="f", threads=2, num_parallel_calls=2, deterministic=True
    )
    pipeline = looked_at(SLICES, insists, BATCH).pipeline
    # Stages that an earlier edit added have no number of their own.
    first = Stage("map", (pipeline.root,), {"num_parallel_calls": 2})
    second = Stage("map", (first,), {"num_parallel_calls": 2, "deterministic": True})
    changed = fixes.apply(replace(pipeline, root=second), [Edit("unordered")])
    asked = [s.args.get("deterministic") for s in chain(changed) if s.op == "map"]
    assert asked == [False, None, False]
