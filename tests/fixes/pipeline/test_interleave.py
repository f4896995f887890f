"""The fix interleave: what it proposes, and what its edit changes."""

from __future__ import annotations

import pytest

from feedline import fixes
from feedline.fixes.fix import CannotFix, Edit
from tests.causes.build import BATCH, SLICES, part
from tests.fixes.build import (
    MAP,
    applied,
    chain,
    files,
    looked_at,
    one,
    proposed,
)


def test_files_in_turns_are_read_at_once():
    names = part("from_tensor_slices", 0.1)
    turns = part(
        "interleave", 40.0, name="read", ops=("TFRecordDataset",), cycle_length=4
    )
    looked = looked_at(names, turns, BATCH)
    proposal = one("interleave", looked)
    assert (proposal.edit.args, proposal.grade) == ({"way": "turns"}, "exact")
    assert chain(applied(looked, proposal))[1].args["num_parallel_calls"] == -1


def test_files_one_after_the_other_are_read_ahead_or_mixed():
    looked = looked_at(files("tfrecord", compression_type=""), MAP, BATCH)
    ahead, mixed = proposed("interleave", looked)
    assert (ahead.edit.args["way"], ahead.grade) == ("ahead", "exact")
    assert (mixed.edit.args["way"], mixed.grade) == ("mixed", "reordered")
    changed = chain(applied(looked, ahead))
    assert [s.op for s in changed][:2] == ["from_tensor_slices", "parallel_interleave"]
    assert changed[0].args["tensors"] == ["a", "b", "c"]
    assert changed[1].args["cycle_length"] == 1
    assert changed[1].args["sloppy"] is False
    assert chain(applied(looked, mixed))[0].args["num_parallel_reads"] == -1


def test_a_flat_map_over_files_is_read_ahead():
    read = part("flat_map", 40.0, name="read", ops=("TextLineDataset",))
    looked = looked_at(SLICES, read, BATCH)
    proposal = one("interleave", looked)
    assert proposal.edit.args == {"way": "ahead"}
    changed = chain(applied(looked, proposal))[1]
    assert (changed.op, changed.args["sloppy"]) == ("parallel_interleave", False)


@pytest.mark.parametrize(
    "source",
    [
        part("tfrecord", 40.0, filenames=["a"]),
        files("tfrecord", num_parallel_reads=2),
        part("interleave", 40.0, name="r", ops=("TFRecordDataset",), cycle_length=1),
        part("interleave", 40.0, name="r", ops=("Range",), cycle_length=4),
        part(
            "interleave", 40.0, name="r", ops=("TFRecordDataset",), cycle_length=4,
            num_parallel_calls=-1,
        ),
        part(
            "flat_map", 40.0, name="r", ops=("TFRecordDataset",), python=True
        ),
    ],
    ids=["one file", "parallel", "one at a time", "no files", "parallel turns", "py"],
)  # fmt: skip
def test_no_interleave(source):
    assert proposed("interleave", looked_at(source, BATCH)) == []


def test_reading_ahead_what_is_no_reader_is_refused():
    looked = looked_at(SLICES, MAP, BATCH)
    with pytest.raises(CannotFix, match="more than read records"):
        fixes.apply(looked.pipeline, [Edit("interleave", 1, {"way": "ahead"})])
