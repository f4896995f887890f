"""The cause shuffle-refill: a job with the fault, and the same without it."""

from __future__ import annotations

import pytest

from tests.causes.build import (
    AHEAD,
    BATCH,
    SLICES,
    case,
    part,
)


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
