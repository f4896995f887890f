"""The cause accelerator-unseen: a job with the fault, and the same without it."""

from __future__ import annotations

from dataclasses import replace

from tests.causes.build import (
    ACCELERATED,
    HOST,
    INPUT,
    case,
    step_bound,
)


def test_accelerator_unseen():
    unseen = replace(HOST, accelerators_present=("NVIDIA A100",))
    slow = step_bound(machine=unseen)
    assert slow.names() == ["accelerator-unseen"]
    assert "NVIDIA A100" in slow.findings()[0].evidence
    used = replace(ACCELERATED, accelerators_present=("NVIDIA A100",))
    assert step_bound(machine=used).names() == []
    waits = case(*INPUT, machine=unseen, ceiling=0.1)  # a fact, though it costs little
    assert "accelerator-unseen" in waits.names()
