"""The cause host-saturated: a job with the fault, and the same without it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.causes.build import (
    ACCELERATED,
    AHEAD,
    BATCH,
    SLICES,
    augment,
    case,
    decode,
    part,
)


def test_host_saturated():
    busy = part("map", 60.0, name="decode", threads=2)
    slow = case(SLICES, busy, BATCH, AHEAD, observed=31.0, machine=ACCELERATED)
    assert slow.names()[0] == "host-saturated"
    assert "about 7 cores" in slow.findings()[0].evidence
    many = replace(ACCELERATED, cores=16)
    wide = part("map", 60.0, name="decode", threads=16)
    healthy = case(SLICES, wide, BATCH, AHEAD, observed=10.5, machine=many)
    assert "host-saturated" not in healthy.names()


@pytest.mark.parametrize("cpu", [0.0, 10.0, 20.0, 25.0])
@pytest.mark.parametrize("observed", [40.0, 62.0, 90.0])
def test_host_saturated_never_hides_the_cause_that_would_remove_the_need(cpu, observed):
    serial = case(SLICES, augment(), BATCH, AHEAD, observed=observed, step={"cpu": cpu})
    assert serial.names()[0] == "serial-map"
    for threads in (1, 2):
        load = part("map", 60.0, name="load", python=True, threads=threads)
        python = case(SLICES, load, BATCH, AHEAD, observed=observed, step={"cpu": cpu})
        assert python.names()[0] == "python-in-pipeline"
    again = case(SLICES, decode(), BATCH, AHEAD, observed=observed, epochs=9)
    assert again.names()[0] == "recomputed-every-epoch"


def test_host_saturated_names_what_would_make_less_work():
    def named(*parts):
        slow = case(*parts, BATCH, AHEAD, observed=31.0, machine=ACCELERATED)
        return slow.find("host-saturated").fixes

    assert named(SLICES, part("map", 60.0, name="f", threads=2)) == ("workers",)
    ops = ("DecodeJpeg", "ResizeBilinear", "Slice", "AdjustHue")
    photos = part("map", 60.0, name="f", threads=2, ops=ops)
    assert named(SLICES, photos, part("filter", 0.1, name="keep")) == (
        "scaled-decode",
        "cropped-decode",
        "crop-first",
        "filter-first",
        "workers",
    )
