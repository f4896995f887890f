"""What holds for the fixes of the step together."""

from __future__ import annotations

from dataclasses import replace

from feedline.fixes.target import all_of
from tests.fixes.build import (
    LAUNCHED,
    LAYER,
    OPEN_SHAPES,
    TABLE,
    looked,
    one,
    proposed,
)


def test_no_fix_of_the_step_is_proposed_twice():
    for name, more in (
        ("steps-per-execution", LAUNCHED),
        ("compile-step", {**LAUNCHED, "job": {"eager": True}}),
        ("jit-compile", {"step": {"overhead": 8.0}}),
        ("reduce-retracing", {"job": {"kind": "loop"}, "what_if": OPEN_SHAPES}),
        ("row-sparse-embedding", {"tables": (TABLE,), "job": {"layers": (LAYER,)}}),
    ):
        first = looked(**more)
        proposal = one(name, first)
        again = replace(first, edits=(proposal.edit,))
        assert proposed(name, again) == []


def test_undoing_goes_backwards():
    done: list[int] = []
    all_of([lambda: done.append(1), lambda: done.append(2)])()
    assert done == [2, 1]
