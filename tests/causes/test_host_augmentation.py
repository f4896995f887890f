"""The cause host-augmentation: a job with the fault, and the same without it."""

from __future__ import annotations

from tests.causes.build import (
    ACCELERATED,
    AHEAD,
    BATCH,
    IMAGE32,
    SLICES,
    augment,
    case,
    part,
)


def test_host_augmentation():
    parts = (SLICES, augment(threads=2, spec=IMAGE32), BATCH, AHEAD)
    slow = case(*parts, observed=40.0, machine=ACCELERATED)
    assert slow.names()[0] == "host-augmentation"
    assert "host-augmentation" not in case(*parts, observed=40.0).names()
    fixed = (SLICES, part("map", 60.0, name="resize", threads=2, spec=IMAGE32), BATCH)
    healthy = case(*fixed, AHEAD, observed=40.0, machine=ACCELERATED)
    assert "host-augmentation" not in healthy.names()
