"""The fix jit-compile: what it proposes, and what its edit changes."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from feedline import fixes
from feedline.fixes.fix import Edit
from feedline.fixes.target import Target
from tests.fixes.build import (
    looked,
    one,
    proposed,
)


def test_an_eager_step_of_ones_own_is_fused_once_it_is_compiled():
    case = looked(job={"kind": "loop", "eager": True})
    assert proposed("jit-compile", case) == []
    compiled = replace(case, edits=(Edit("compile-step"),))
    assert one("jit-compile", compiled).grade == "numeric"


def test_a_step_that_is_mostly_launching_is_fused():
    proposal = one("jit-compile", looked(step={"overhead": 8.0}))
    assert (proposal.grade, proposal.step_ms) == ("numeric", pytest.approx(6.0))
    for more in (
        {"step": {"overhead": 1.0}},
        {"step": {"overhead": 8.0}, "job": {"jit_compile": True}},
        {"step": {"overhead": 8.0}, "job": {"strategy": "MirroredStrategy"}},
    ):
        assert proposed("jit-compile", looked(**more)) == []


def test_xla_is_asked_for_training_alone():
    model = SimpleNamespace(jit_compile=False, run_eagerly=False, train_function=None)
    model.make_train_function = lambda force: setattr(
        model, "train_function", ("made with", model.jit_compile)
    )
    target, install = Target(model), fixes.all()["jit-compile"].install
    assert install is not None
    install(target, Edit("jit-compile"))
    assert target.train_function() == ("made with", True)
    assert model.jit_compile is False
