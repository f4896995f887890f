"""The cause recomputed-every-epoch: a job with the fault, and the same without it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.causes.build import (
    AHEAD,
    BATCH,
    HOST,
    SLICES,
    case,
    decode,
    part,
)

SHUFFLE = part("shuffle", buffer_size=9)


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
        ("drawn after a shuffle", (SLICES, SHUFFLE, decode(random=True), BATCH), {}),
        ("batched after it", (SLICES, SHUFFLE, part("batch", 60.0)), {}),
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


def test_recomputed_names_the_caches_that_have_a_place():
    plain = case(SLICES, decode(), BATCH, AHEAD, epochs=10)
    assert plain.find("recomputed-every-epoch").fixes == ("cache",)
    late = part("map", 20.0, name="augment", random=True)
    more = case(SLICES, decode(), SHUFFLE, late, BATCH, AHEAD, epochs=10)
    assert more.find("recomputed-every-epoch").fixes == ("cache", "cache-undrawn")


def test_recomputed_after_a_shuffle_of_names():
    """Keras' image_dataset_from_directory shuffles names and decodes after that."""
    slow = case(SLICES, SHUFFLE, decode(), BATCH, AHEAD, epochs=10)
    assert slow.names()[0] == "recomputed-every-epoch"
    finding = slow.find("recomputed-every-epoch")
    assert str(finding.where) == "train.py:3"
    assert finding.fixes == ("cache-before-shuffle",)
    assert "with shuffle(9) behind the two" in finding.evidence
