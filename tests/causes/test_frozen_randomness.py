"""The cause frozen-randomness: a job with the fault, and the same without it."""

from __future__ import annotations

from tests.causes.build import (
    AHEAD,
    BATCH,
    SLICES,
    case,
    part,
)


def test_frozen_randomness():
    parts = (SLICES, part("map", 1.0, name="crop", random=True), part("cache"), BATCH)
    wrong = case(*parts, AHEAD, epochs=5, observed=10.1)
    assert wrong.names() == ["frozen-randomness"]
    assert wrong.findings()[0].cost_ms == 0
    assert str(wrong.findings()[0].where) == "train.py:3"
    assert "map(crop) comes before cache()" in wrong.findings()[0].evidence
    right = (SLICES, part("cache"), parts[1], BATCH)
    assert "frozen-randomness" not in case(*right, AHEAD, epochs=5).names()
    assert "frozen-randomness" not in case(*parts, AHEAD, epochs=1).names()


def test_frozen_order():
    shuffle, cache = part("shuffle", buffer_size=100), part("cache")
    frozen = case(SLICES, shuffle, cache, BATCH, epochs=5, observed=10.1)
    assert "repeats the same order" in frozen.find("frozen-randomness").evidence
    again = case(SLICES, shuffle, cache, shuffle, BATCH, epochs=5, observed=10.1)
    assert "frozen-randomness" not in again.names()
    meant = part("shuffle", buffer_size=100, reshuffle_each_iteration=False)
    fixed = case(SLICES, meant, cache, BATCH, epochs=5, observed=10.1)
    assert "frozen-randomness" not in fixed.names()
