"""The fix worker-processes: what it proposes, and what its edit changes."""

from __future__ import annotations

from feedline.fixes.fix import Edit
from tests.causes.build import BATCH, SLICES, part
from tests.fixes.build import (
    MAP,
    looked_at,
    one,
    proposed,
)


def test_python_goes_to_processes_of_its_own():
    python = part("map", 50.0, name="f", python=True)
    proposal = one("worker-processes", looked_at(SLICES, python, BATCH))
    assert proposal.edit == Edit("worker-processes", 1, {"workers": 2})
    assert proposal.grade == "exact"
    source = part("from_generator", 50.0)
    proposal = one("worker-processes", looked_at(source, BATCH))
    assert proposal.edit == Edit("worker-processes", 0, {"workers": 1})
    assert proposed("worker-processes", looked_at(SLICES, MAP, BATCH)) == []
    drawing = part("map", 50.0, name="f", python=True, random=True)
    assert proposed("worker-processes", looked_at(SLICES, drawing, BATCH)) == []
