"""The cause per-element-map: a job with the fault, and the same without it."""

from __future__ import annotations

from tests.causes.build import (
    AHEAD,
    BATCH,
    SLICES,
    about,
    case,
    part,
)


def test_per_element_map():
    parts = (SLICES, part("map", 20.0, name="scale", threads=2, elements=128.0), BATCH)
    slow = case(
        *(*parts, AHEAD), observed=30.0, what_if={"input:vectorized": about(0.5)}
    )
    assert slow.names()[0] == "per-element-map"
    assert "128 times per step" in slow.find("per-element-map").evidence
    work = case(
        *(*parts, AHEAD), observed=30.0, what_if={"input:vectorized": about(18.0)}
    )
    assert "per-element-map" not in work.names()
    assert "per-element-map" not in case(*parts, AHEAD, observed=30.0).names()
    batched = case(
        *(SLICES, BATCH, part("map", 20.0, name="scale", elements=1.0), AHEAD),
        what_if={"input:vectorized": about(0.5)},
    )
    assert "per-element-map" not in batched.names()
