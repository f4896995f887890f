"""A job with a slow map, measured by hand and judged."""

from __future__ import annotations

from feedline.report.basis import Basis
from feedline.report.report import Report
from feedline.session.judge import judge
from tests.causes.build import AHEAD, BATCH, SLICES, Case, case, part


def slow_map() -> Case:
    return case(SLICES, part("map", 50.0, name="load"), BATCH, AHEAD)


def basis() -> Basis:
    slow = slow_map()
    return Basis.of(slow.job, slow.measured, script="train.py", seconds=41.0)


def judged() -> Report:
    return judge(basis())
