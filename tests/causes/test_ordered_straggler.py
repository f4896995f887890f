"""The cause ordered-straggler: a job with the fault, and the same without it."""

from __future__ import annotations

import pytest

from tests.causes.build import (
    AHEAD,
    BATCH,
    SLICES,
    about,
    case,
    part,
)


def test_ordered_straggler():
    parts = (SLICES, part("map", 40.0, name="read", threads=8), BATCH, AHEAD)
    how = {"observed": 50.0, "step": {"input_alone": about(50.0)}}
    slow = case(*parts, **how, what_if={"input:unordered": about(8.0)})
    assert slow.names()[0] == "ordered-straggler"
    assert slow.findings()[0].cost_ms == pytest.approx(40.0)
    same = case(*parts, **how, what_if={"input:unordered": about(49.5)})
    assert "ordered-straggler" not in same.names()
    assert "ordered-straggler" not in case(*parts, **how).names()
