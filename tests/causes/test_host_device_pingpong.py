"""The cause host-device-pingpong: a capture in which the CPU runs operations amid the
step of a device, and one of a job that is on the CPU anyway."""

from __future__ import annotations

import pytest

from tests.causes.test_blocking_transfer import found
from tests.measure.profile.build import planted


def test_host_device_pingpong(tmp_path):
    finding = found(planted(), tmp_path)["host-device-pingpong"]
    assert finding.cost_ms == pytest.approx(8.0, rel=0.01)
    assert "LookupTableFindV2" in finding.evidence
    assert "copies from the device once" in finding.evidence
    assert finding.fixes == ("placement",)


def test_a_job_on_the_cpu_has_no_device_to_wait(tmp_path):
    assert "host-device-pingpong" not in found(planted(devices=0), tmp_path)
