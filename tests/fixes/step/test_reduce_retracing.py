"""The fix reduce-retracing: what it proposes, and what its edit changes."""

from __future__ import annotations

import pytest

from feedline import fixes
from feedline.fixes.fix import Edit
from feedline.fixes.places import places
from feedline.job.tfdata.pipeline import Where
from tests.fixes.build import OPEN_SHAPES, looked, one, proposed


def test_what_was_tried_beside_the_training_is_proposed():
    case = looked(job={"kind": "loop"}, what_if=OPEN_SHAPES)
    proposal = one("reduce-retracing", case)
    assert (proposal.edit, proposal.grade) == (Edit("reduce-retracing"), "exact")
    ceiling = case.measured.step.ceiling.value
    assert proposal.step_ms == pytest.approx(ceiling / 5)
    assert fixes.own_loop((proposal.edit,)).open_shapes


def test_what_was_not_tried_is_not():
    assert proposed("reduce-retracing", looked(job={"kind": "loop"})) == []
    assert proposed("reduce-retracing", looked(what_if=OPEN_SHAPES)) == []


def test_its_place_is_the_function():
    case = looked(job={"kind": "loop"}, what_if=OPEN_SHAPES)
    edit = Edit("reduce-retracing")
    (place,) = places(
        case.pipeline, [edit], Where("train.py", 9), Where("train.py", 3), own=True
    )
    assert (place.line, place.op) == (3, "def")
    assert place.edit.args == {"option": "reduce_retracing"}
