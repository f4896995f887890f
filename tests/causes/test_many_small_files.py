"""The cause many-small-files: a job with the fault, and the same without it."""

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
