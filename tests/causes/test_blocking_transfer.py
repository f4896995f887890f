"""The cause blocking-transfer: a capture in which the device waits for a copy, and one
without the copy."""

from __future__ import annotations

import pytest

from feedline.session.captured import report_of
from tests.measure.profile.build import Space, planted


def found(space: Space, tmp_path) -> dict:
    report = report_of(space.save(tmp_path / "planted.xplane.pb"))
    return {finding.cause: finding for finding in report.findings}


def test_blocking_transfer(tmp_path):
    finding = found(planted(), tmp_path)["blocking-transfer"]
    assert finding.cost_ms == pytest.approx(10.0, rel=0.01)
    assert (
        "50.0 MB go to the device in each step from pageable memory" in finding.evidence
    )
    assert "5.0 GB/s" in finding.evidence
    assert finding.fixes == ("prefetch-to-device", "cast-on-device")


def test_without_a_device_nothing_is_copied(tmp_path):
    assert "blocking-transfer" not in found(planted(devices=0), tmp_path)
