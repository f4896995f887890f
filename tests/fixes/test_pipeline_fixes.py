"""What each fix of the pipeline proposes, and what its edit makes of a pipeline."""

from __future__ import annotations

from dataclasses import replace

import pytest

from feedline import fixes
from feedline.fixes.fix import CannotFix, Edit
from feedline.job.tfdata.pipeline import Stage
from tests.causes.build import AHEAD, BATCH, HOST, SLICES, about, part
from tests.fixes.build import (
    applied,
    chain,
    costs_by_index,
    looked_at,
    of_function,
    one,
    proposed,
)

MAP = part("map", 50.0, name="load")
PYTHON = part("map", 50.0, name="f", python=True)
SHUFFLE = part("shuffle", 0.1, buffer_size=10)
WRITES = "AssignAddVariableOp"


# ------------------------------------------------------------------ parallel-map


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


# ---------------------------------------------------------------- parallel-batch


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


# ---------------------------------------------------------------------- prefetch


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


# ------------------------------------------------------------------------- cache


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


# -------------------------------------------------------------------- interleave


def files(op: str, **args: object) -> object:
    return part(op, 40.0, filenames=["a", "b", "c"], **args)


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


# ------------------------------------------------------------------ filter-first


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


# ------------------------------------------------------------------- shuffle-ids


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


# ---------------------------------------------------------- cache-before-shuffle


def names(*more, **facts):
    shuffle = part("shuffle", buffer_size=10, random=True)
    return looked_at(SLICES, shuffle, MAP, *more, BATCH, epochs=5, **facts)


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


# --------------------------------------------------------- vectorize, decode, order


def test_vectorize_takes_the_map_that_was_tried():
    cheap = part("map", 1.0, name="cheap")
    looked = looked_at(
        SLICES, cheap, MAP, BATCH, what_if={"input:vectorized": about(4.0)}
    )
    proposal = one("vectorize-map", looked)
    assert (proposal.edit.stage, proposal.grade) == (2, "exact")
    whole = costs_by_index(proposal)[2]
    assert (whole.ms_per_batch, whole.elements_per_batch) == (4.0, 1.0)
    assert proposed("vectorize-map", looked_at(SLICES, MAP, BATCH)) == []


def test_jpegs_that_are_made_smaller_are_decoded_small():
    decode = part("map", 50.0, name="f", ops=("DecodeJpeg", "ResizeBilinear"))
    proposal = one("scaled-decode", looked_at(SLICES, decode, BATCH))
    assert (proposal.edit.stage, proposal.grade) == (1, "numeric")
    plain = part("map", 50.0, name="f", ops=("DecodeJpeg",))
    assert proposed("scaled-decode", looked_at(SLICES, plain, BATCH)) == []


def test_jpegs_of_which_a_part_is_cut_out_are_decoded_in_that_part():
    decode = part("map", 50.0, name="f", ops=("DecodeJpeg", "Slice"))
    proposal = one("cropped-decode", looked_at(SLICES, decode, BATCH))
    assert (proposal.edit.stage, proposal.grade) == (1, "numeric")
    plain = part("map", 50.0, name="f", ops=("DecodeJpeg",))
    assert proposed("cropped-decode", looked_at(SLICES, plain, BATCH)) == []


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


# -------------------------------------------------------------- worker-processes


def test_python_goes_to_processes_of_its_own():
    python = part("map", 50.0, name="f", python=True)
    proposal = one("worker-processes", looked_at(SLICES, python, BATCH))
    assert proposal.edit == Edit("worker-processes", 1, {"workers": 2})
    assert proposal.grade == "exact"
    source = part("from_generator", 50.0)
    proposal = one("worker-processes", looked_at(source, BATCH))
    assert proposal.edit == Edit("worker-processes", 0, {"workers": 1})
    assert proposed("worker-processes", looked_at(SLICES, MAP, BATCH)) == []
    drawing = part("map", 50.0, name="f", python=True, random=True)
    assert proposed("worker-processes", looked_at(SLICES, drawing, BATCH)) == []
