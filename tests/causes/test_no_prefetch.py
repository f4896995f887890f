"""The cause no-prefetch: a job with the fault, and the same without it."""

from __future__ import annotations

import pytest

from tests.causes.build import (
    ACCELERATED,
    AHEAD,
    BATCH,
    SLICES,
    case,
    part,
)


def test_no_prefetch():
    parts = (SLICES, part("map", 20.0, name="decode", threads=1), BATCH)
    slow = case(*parts, observed=40.0, ceiling=20.0, machine=ACCELERATED)
    assert slow.names()[0] == "no-prefetch"
    assert slow.find("no-prefetch").cost_ms == pytest.approx(20.0, abs=0.5)
    for ahead in (AHEAD, part("prefetch", ahead=True, buffer_size=-1)):
        quick = case(*(*parts, ahead), observed=20.5, ceiling=20.0, machine=ACCELERATED)
        assert "no-prefetch" not in quick.names()
