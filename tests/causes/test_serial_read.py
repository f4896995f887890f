"""The cause serial-read: a job with the fault, and the same without it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from feedline.measure.measurement import (
    FileCost,
)
from tests.causes.build import (
    AHEAD,
    BATCH,
    case,
    part,
)

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
