"""The fix compile-step: what it proposes, and what its edit changes."""

from __future__ import annotations

import pytest

from feedline.fixes.fix import Edit
from tests.fixes.build import (
    LAUNCHED,
    looked,
    one,
    proposed,
)


def test_an_eager_step_is_compiled():
    proposal = one("compile-step", looked(job={"eager": True}, **LAUNCHED))
    assert (proposal.edit, proposal.grade) == (Edit("compile-step"), "exact")
    assert proposal.step_ms == pytest.approx(2.5)
    assert proposed("compile-step", looked(**LAUNCHED)) == []


def test_an_eager_step_of_ones_own_keeps_some_of_its_launching():
    case = looked(job={"kind": "loop", "eager": True})
    proposal = one("compile-step", case)
    assert proposal.step_ms == pytest.approx(0.525 * case.measured.step.ceiling.value)
