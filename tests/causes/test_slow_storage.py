"""The cause slow-storage: a job with the fault, and the same without it."""

from __future__ import annotations

from dataclasses import replace

from feedline.measure.measurement import (
    FileCost,
)
from tests.causes.build import (
    AHEAD,
    BATCH,
    case,
    part,
)


def test_slow_storage():
    source = part("tfrecord", 50.0, threads=2)
    slow_disk = FileCost(
        files=10, mean_bytes=1e8, open_ms=1.0, mb_per_s=20.0, files_per_step=0.01
    )
    slow = case(source, BATCH, AHEAD, observed=30.0, files=slow_disk)
    assert slow.names()[0] == "slow-storage"
    assert "1.0 MB, which takes 50.0 ms at the 20 MB/s" in slow.findings()[0].evidence
    quick = case(source, BATCH, AHEAD, files=replace(slow_disk, mb_per_s=900.0))
    assert "slow-storage" not in quick.names()
