"""The cause python-in-pipeline: a job with the fault, and the same without it."""

from __future__ import annotations

import pytest

from tests.causes.build import (
    AHEAD,
    BATCH,
    SLICES,
    case,
    part,
)


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
