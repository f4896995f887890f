"""The cause slow-preparation: a job with the fault, and the same without it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from feedline.job.tfdata.pipeline import Where
from feedline.measure.measurement import (
    Line,
    RunTimes,
)
from tests.causes.build import (
    step_bound,
)


def test_slow_preparation():
    lines = (
        Line(Where("prepare.py", 3), 1.0),
        Line(Where("/a/train.py", 12, "pairs = skipgrams(text)"), 7.9),
    )
    run = RunTimes(prepare_s=10.0, train_s=2.0, slowest_lines=lines)
    slow = step_bound(run=run, epochs=2)
    assert slow.names() == ["slow-preparation"]
    finding = slow.findings()[0]
    assert str(finding.where) == "train.py:12"
    assert "`pairs = skipgrams(text)` alone takes 7.9 s" in finding.evidence
    assert finding.cost_ms == pytest.approx(10_000 / 200)
    assert step_bound(run=replace(run, train_s=100.0)).names() == []
    unknown = replace(run, train_s=None, epoch_s=0.4)
    assert "an epoch 0.4 s" in step_bound(run=unknown).findings()[0].evidence
    assert step_bound(run=replace(unknown, epoch_s=4.0)).names() == []
    assert step_bound(run=replace(run, prepare_s=2.0)).names() == []
    assert step_bound(run=replace(run, train_s=None)).names() == []
