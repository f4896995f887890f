"""Causes in the pipeline: each fault, and the same job without it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from feedline.job.tfdata.pipeline import TensorSpec
from feedline.measure.measurement import FileCost
from tests.causes.build import (
    ACCELERATED,
    AHEAD,
    BATCH,
    HOST,
    SLICES,
    about,
    case,
    part,
)

IMAGE8 = (TensorSpec("uint8", (64, 64, 3)), TensorSpec("int64", ()))
IMAGE32 = (TensorSpec("float32", (64, 64, 3)), TensorSpec("int64", ()))


def augment(**how):
    return part("map", 60.0, name="augment", random=True, **how)


def test_serial_map():
    slow = case(SLICES, augment(), BATCH, AHEAD)
    assert slow.names()[0] == "serial-map"
    finding = slow.find("serial-map")
    assert str(finding.where) == "train.py:2"
    assert finding.fixes == ("parallel-map",)
    assert finding.cost_ms == pytest.approx(30.0, abs=1.5)
    assert finding.evidence.startswith(
        "map(augment) takes 60.0 ms of CPU per step on 1 of 2 cores; spread over both"
    )
    quick = case(SLICES, augment(threads=2), BATCH, AHEAD, observed=40.0)
    assert "serial-map" not in quick.names()


def test_serial_map_is_judged_by_what_ran():
    """TensorFlow made this map parallel by itself."""
    parallel = part("map", 60.0, name="decode", threads=2, num_parallel_calls=None)
    assert "serial-map" not in case(SLICES, parallel, BATCH, observed=40.0).names()


def test_serial_map_is_no_fault_on_one_core():
    single = case(SLICES, augment(), BATCH, AHEAD, machine=replace(HOST, cores=1))
    assert "serial-map" not in single.names()


def test_serial_map_is_not_blamed_for_a_missing_prefetch():
    """30 ms of map and 30 ms of step in turns: overlap is all that is missing."""
    turns = case(
        SLICES,
        part("map", 30.0, name="augment", random=True),
        BATCH,
        observed=60.0,
        ceiling=30.0,
        machine=ACCELERATED,
    )
    assert turns.names()[0] == "no-prefetch"
    assert "serial-map" not in turns.names()


def test_per_element_map():
    parts = (SLICES, part("map", 20.0, name="scale", threads=2, elements=128.0), BATCH)
    slow = case(
        *(*parts, AHEAD), observed=30.0, what_if={"input:vectorized": about(0.5)}
    )
    assert slow.names()[0] == "per-element-map"
    assert "128 times per step" in slow.find("per-element-map").evidence
    work = case(
        *(*parts, AHEAD), observed=30.0, what_if={"input:vectorized": about(18.0)}
    )
    assert "per-element-map" not in work.names()
    assert "per-element-map" not in case(*parts, AHEAD, observed=30.0).names()
    batched = case(
        *(SLICES, BATCH, part("map", 20.0, name="scale", elements=1.0), AHEAD),
        what_if={"input:vectorized": about(0.5)},
    )
    assert "per-element-map" not in batched.names()


def test_no_prefetch():
    parts = (SLICES, part("map", 20.0, name="decode", threads=1), BATCH)
    slow = case(*parts, observed=40.0, ceiling=20.0, machine=ACCELERATED)
    assert slow.names()[0] == "no-prefetch"
    assert slow.find("no-prefetch").cost_ms == pytest.approx(20.0, abs=0.5)
    for ahead in (AHEAD, part("prefetch", ahead=True, buffer_size=-1)):
        quick = case(*(*parts, ahead), observed=20.5, ceiling=20.0, machine=ACCELERATED)
        assert "no-prefetch" not in quick.names()


def decode(**how):
    return part("map", 60.0, name="decode", threads=2, width=12_000.0, **how)


def test_recomputed_every_epoch():
    slow = case(SLICES, decode(), BATCH, AHEAD, epochs=10)
    assert slow.names()[0] == "recomputed-every-epoch"
    finding = slow.find("recomputed-every-epoch")
    assert str(finding.where) == "train.py:3"
    assert "fits into memory" in finding.evidence
    assert finding.cost_ms == pytest.approx(50.0)  # all of the wait


@pytest.mark.parametrize(
    ("why", "parts", "how"),
    [
        ("cached", (SLICES, decode(), part("cache"), BATCH), {}),
        ("one epoch", (SLICES, decode(), BATCH), {"epochs": 1}),
        ("endless", (SLICES, decode(), BATCH), {"cardinality": -1}),
        ("random", (SLICES, decode(random=True), BATCH), {}),
        ("python", (SLICES, decode(python=True), BATCH), {}),
        ("unknown", (part("opaque"), decode(), BATCH), {}),
        ("shuffled", (SLICES, part("shuffle", buffer_size=9), decode(), BATCH), {}),
        ("in memory", (part("from_tensor_slices", 60.0), BATCH), {}),
        ("size unknown", (SLICES, part("map", 60.0, name="f", width=0.0)), {}),
    ],
)
def test_recomputed_only_where_a_cache_may_stand(why, parts, how):
    healthy = case(*parts, AHEAD, **{"epochs": 10, **how})
    assert "recomputed-every-epoch" not in healthy.names(), why


def test_what_is_cached_costs_nothing_from_the_second_epoch_on():
    """The copy on which stages were timed had not filled its cache yet."""
    load = part("map", 60.0, name="load", random=True)
    late = part("map", 20.0, name="augment", random=True)
    healthy = case(SLICES, load, part("cache"), BATCH, AHEAD, epochs=9, observed=11.0)
    assert healthy.names() == ["frozen-randomness"]
    only = case(
        SLICES, load, part("cache"), late, BATCH, AHEAD, epochs=9, observed=20.0
    )
    assert only.names()[0] == "serial-map"
    assert str(only.findings()[0].where) == "train.py:4"
    assert "serial-map" in case(SLICES, load, part("cache"), BATCH, epochs=1).names()


def test_recomputed_after_a_cache_that_stands_too_early():
    wrong = case(part("tfrecord"), part("cache"), decode(), BATCH, AHEAD, epochs=10)
    assert wrong.names()[0] == "recomputed-every-epoch"


def test_recomputed_counts_repeat_as_passes():
    parts = (SLICES, decode(), part("repeat", count=4), BATCH, AHEAD)
    assert case(*parts, epochs=1).names()[0] == "recomputed-every-epoch"
    # the cache goes before the repeat, and holds a quarter of the 100 steps
    finding = case(*parts, epochs=1).find("recomputed-every-epoch")
    assert str(finding.where) == "train.py:2"
    assert "9.6 MB" in finding.evidence


def test_recomputed_too_large_for_memory_goes_to_disk_or_to_an_earlier_point():
    tight = replace(HOST, free_memory_gb=0.01)
    batch = part("batch", elements=1.0, width=1e6)
    huge = case(SLICES, decode(), batch, AHEAD, epochs=10, machine=tight)
    assert "local disk" in huge.find("recomputed-every-epoch").evidence
    parse = part("map", 50.0, name="parse", width=100.0)
    inflate = part("map", 10.0, name="inflate", width=1e6)
    both = case(SLICES, parse, inflate, batch, AHEAD, epochs=10, machine=tight)
    assert str(both.find("recomputed-every-epoch").where) == "train.py:2"


FILES = FileCost(
    files=16, mean_bytes=1e7, open_ms=0.1, mb_per_s=1000.0, files_per_step=0.1
)


@pytest.mark.parametrize(
    "source",
    [
        part("tfrecord", 40.0, filenames=["a", "b"]),
        part("fixed_length_record", 40.0),
        part("interleave", 40.0, name="f", ops=("TFRecordDatasetV2",)),
    ],
)
def test_serial_read(source):
    slow = case(source, BATCH, AHEAD, observed=50.0, files=FILES)
    assert slow.names()[0] == "serial-read"
    assert "16 files in one thread" in slow.find("serial-read").evidence
    by_name = case(part("tfrecord", 40.0, filenames=["a", "b"]), BATCH, AHEAD)
    assert "2 files" in by_name.find("serial-read").evidence
    single = case(source, BATCH, AHEAD, files=replace(FILES, files=1))
    assert "serial-read" not in single.names()
    threads = replace(source.cost, parallelism=2, asynchronous=True)
    parallel = case(replace(source, cost=threads), BATCH, AHEAD, files=FILES)
    assert "serial-read" not in parallel.names()
    costly_map = part("map", 90.0, name="decode", threads=2)
    other = case(source, costly_map, BATCH, AHEAD, files=FILES)
    assert "serial-read" not in other.names()


def test_many_small_files():
    load = part("map", 50.0, name="load", ops=("ReadFile", "DecodeJpeg"), threads=2)
    small = FileCost(
        files=9000, mean_bytes=4000.0, open_ms=1.2, mb_per_s=400.0, files_per_step=32.0
    )
    parts = (part("list_files"), load, BATCH, AHEAD)
    slow = case(*parts, observed=30.0, files=small)
    assert slow.names()[0] == "many-small-files"
    assert "38.4 ms per step for opening" in slow.find("many-small-files").evidence
    large = replace(small, mean_bytes=4e6)
    assert "many-small-files" not in case(*parts, observed=30.0, files=large).names()
    cached = case(*(*parts[:2], part("cache"), BATCH, AHEAD), files=small, epochs=9)
    assert "many-small-files" not in cached.names()


def test_slow_storage():
    source = part("tfrecord", 50.0, threads=2)
    slow_disk = FileCost(
        files=10, mean_bytes=1e8, open_ms=1.0, mb_per_s=20.0, files_per_step=0.01
    )
    slow = case(source, BATCH, AHEAD, observed=30.0, files=slow_disk)
    assert slow.names()[0] == "slow-storage"
    assert "1.0 MB, which take 50.0 ms at the 20 MB/s" in slow.findings()[0].evidence
    quick = case(source, BATCH, AHEAD, files=replace(slow_disk, mb_per_s=900.0))
    assert "slow-storage" not in quick.names()


@pytest.mark.parametrize(
    "stage",
    [
        part("from_generator", 60.0),
        part("map", 60.0, name="load", python=True),
        part("map", 60.0, name="load", python=True, threads=2),
    ],
)
def test_python_in_pipeline(stage):
    slow = case(SLICES, stage, BATCH, AHEAD)
    assert slow.names()[0] == "python-in-pipeline"
    assert "serial-map" not in slow.names()
    assert slow.findings()[0].cost_ms == pytest.approx(30.0, abs=1.5)
    same = part("map", 60.0, name="load", threads=2)
    assert "python-in-pipeline" not in case(SLICES, same, BATCH, AHEAD).names()


def test_wide_transfer():
    cast = part("map", 1.0, name="cast", spec=IMAGE32)
    source = part("from_tensor_slices", spec=IMAGE8)
    how = {"observed": 30.0, "host_fed": 30.0}
    slow = case(source, cast, BATCH, AHEAD, machine=ACCELERATED, **how)
    assert slow.names() == ["wide-transfer"]
    assert slow.findings()[0].cost_ms == pytest.approx(15.0, rel=0.01)
    assert "wide-transfer" not in case(source, cast, BATCH, AHEAD, **how).names()
    floats = part("from_tensor_slices", spec=IMAGE32)
    healthy = case(floats, cast, BATCH, AHEAD, machine=ACCELERATED, **how)
    assert "wide-transfer" not in healthy.names()


def test_host_augmentation():
    parts = (SLICES, augment(threads=2, spec=IMAGE32), BATCH, AHEAD)
    slow = case(*parts, observed=40.0, machine=ACCELERATED)
    assert slow.names()[0] == "host-augmentation"
    assert "host-augmentation" not in case(*parts, observed=40.0).names()
    fixed = (SLICES, part("map", 60.0, name="resize", threads=2, spec=IMAGE32), BATCH)
    healthy = case(*fixed, AHEAD, observed=40.0, machine=ACCELERATED)
    assert "host-augmentation" not in healthy.names()


def test_shuffle_refill():
    shuffle = part("shuffle", 0.1, buffer_size=3200)
    late = (SLICES, part("map", 40.0, name="decode", threads=2), shuffle, BATCH, AHEAD)
    slow = case(*late, observed=40.0, ceiling=20.0, step={"epoch_start": 18.0})
    assert slow.names()[0] == "shuffle-refill"
    assert slow.findings()[0].cost_ms == pytest.approx(18.0)
    early = (SLICES, shuffle, part("map", 40.0, name="decode", threads=2), BATCH, AHEAD)
    healthy = case(*early, observed=40.0, ceiling=20.0, step={"epoch_start": 18.0})
    assert "shuffle-refill" not in healthy.names()
    tiny = part("shuffle", 0.1, buffer_size=16)
    small = case(*late[:2], tiny, *late[3:], observed=40.0, step={"epoch_start": 18.0})
    assert "shuffle-refill" not in small.names()


def test_ordered_straggler():
    parts = (SLICES, part("map", 40.0, name="read", threads=8), BATCH, AHEAD)
    how = {"observed": 50.0, "step": {"input_alone": about(50.0)}}
    slow = case(*parts, **how, what_if={"input:unordered": about(8.0)})
    assert slow.names()[0] == "ordered-straggler"
    assert slow.findings()[0].cost_ms == pytest.approx(40.0)
    same = case(*parts, **how, what_if={"input:unordered": about(49.5)})
    assert "ordered-straggler" not in same.names()
    assert "ordered-straggler" not in case(*parts, **how).names()


def test_frozen_randomness():
    parts = (SLICES, part("map", 1.0, name="crop", random=True), part("cache"), BATCH)
    wrong = case(*parts, AHEAD, epochs=5, observed=10.1)
    assert wrong.names() == ["frozen-randomness"]
    assert wrong.findings()[0].cost_ms == 0
    assert str(wrong.findings()[0].where) == "train.py:3"
    assert "map(crop) stands before cache()" in wrong.findings()[0].evidence
    right = (SLICES, part("cache"), parts[1], BATCH)
    assert "frozen-randomness" not in case(*right, AHEAD, epochs=5).names()
    assert "frozen-randomness" not in case(*parts, AHEAD, epochs=1).names()


def test_frozen_order():
    shuffle, cache = part("shuffle", buffer_size=100), part("cache")
    frozen = case(SLICES, shuffle, cache, BATCH, epochs=5, observed=10.1)
    assert "repeats the same order" in frozen.find("frozen-randomness").evidence
    again = case(SLICES, shuffle, cache, shuffle, BATCH, epochs=5, observed=10.1)
    assert "frozen-randomness" not in again.names()
    meant = part("shuffle", buffer_size=100, reshuffle_each_iteration=False)
    fixed = case(SLICES, meant, cache, BATCH, epochs=5, observed=10.1)
    assert "frozen-randomness" not in fixed.names()


def test_host_saturated():
    busy = part("map", 60.0, name="decode", threads=2)
    slow = case(SLICES, busy, BATCH, AHEAD, observed=31.0, machine=ACCELERATED)
    assert slow.names()[0] == "host-saturated"
    assert "about 7 cores" in slow.findings()[0].evidence
    many = replace(ACCELERATED, cores=16)
    wide = part("map", 60.0, name="decode", threads=16)
    healthy = case(SLICES, wide, BATCH, AHEAD, observed=10.5, machine=many)
    assert "host-saturated" not in healthy.names()


@pytest.mark.parametrize("cpu", [0.0, 10.0, 20.0, 25.0])
@pytest.mark.parametrize("observed", [40.0, 62.0, 90.0])
def test_host_saturated_never_hides_the_cause_that_would_remove_the_need(cpu, observed):
    serial = case(SLICES, augment(), BATCH, AHEAD, observed=observed, step={"cpu": cpu})
    assert serial.names()[0] == "serial-map"
    for threads in (1, 2):
        load = part("map", 60.0, name="load", python=True, threads=threads)
        python = case(SLICES, load, BATCH, AHEAD, observed=observed, step={"cpu": cpu})
        assert python.names()[0] == "python-in-pipeline"
    again = case(SLICES, decode(), BATCH, AHEAD, observed=observed, epochs=9)
    assert again.names()[0] == "recomputed-every-epoch"
