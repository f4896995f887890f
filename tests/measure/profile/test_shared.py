"""Real captures from GPU machines, where they are at hand.

They are not part of the repository. FEEDLINE_CAPTURES names a directory with
NN.xplane.pb files; without it these tests are skipped. What each one holds was
read from its events by hand; docs/trace.md tells it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from feedline.report.json import from_json, to_json
from feedline.session.captured import report_of

NAMED = os.environ.get("FEEDLINE_CAPTURES", "")
FOLDER = Path(NAMED)

pytestmark = pytest.mark.skipif(
    not NAMED or not FOLDER.is_dir(),
    reason="FEEDLINE_CAPTURES names no directory of captures",
)

# number: where most of the step goes, and what is named first
TRUTH = {
    "01": ("overhead", "launch-overhead"),
    "02": ("compute", "precision"),
    "03": ("overhead", "launch-overhead"),
    "04": ("overhead", "launch-overhead"),
    "05": ("compute", "precision"),
    "06": ("compute", "precision"),
    "07": ("compute", None),
    "08": ("compute", "precision"),
    "09": ("input", None),
    "10": ("compute", "blocking-transfer"),
    "11": ("input", None),
    "12": ("compute", "blocking-transfer"),
    "13": ("compute", "blocking-transfer"),
    "14": ("compute", "precision"),
    "15": ("compute", "blocking-transfer"),
    "16": ("compute", "blocking-transfer"),
    "17": ("compute", "blocking-transfer"),
    "18": ("compute", None),
    "21": ("compute", None),
}


@pytest.mark.parametrize("number", TRUTH)
def test_the_verdict(number):
    report = report_of(FOLDER / f"{number}.xplane.pb")
    bound, cause = TRUTH[number]
    assert report.bound == bound
    assert report.trace.unknown < 0.05
    assert sum(part.share for part in report.trace.parts) == pytest.approx(1, abs=1e-3)
    if cause is not None:
        assert report.findings[0].cause == cause
    assert from_json(to_json(report)) == report
