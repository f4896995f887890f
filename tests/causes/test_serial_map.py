"""The cause serial-map: a job with the fault, and the same without it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.causes.build import (
    ACCELERATED,
    AHEAD,
    BATCH,
    HOST,
    SLICES,
    augment,
    case,
    part,
)


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


def test_serial_map_names_parallel_batch_where_batching_takes_time_too():
    heavy = part("batch", 20.0, elements=1.0, batch_size=32)
    slow = case(SLICES, augment(), heavy, AHEAD).find("serial-map")
    assert slow.fixes == ("parallel-map", "parallel-batch")
    spread = part("batch", 20.0, elements=1.0, batch_size=32, threads=2)
    quick = case(SLICES, augment(), spread, AHEAD).find("serial-map")
    assert quick.fixes == ("parallel-map",)
