"""The cause slow-validation: a fit with the fault, and the same without it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from feedline.job.tfdata.pipeline import Where
from feedline.measure.measurement import RunTimes, ValidationTimes
from tests.causes.build import step_bound

VALID = Where("/a/train.py", 7, "valid = files.map(decode).batch(32)")
SLOW = ValidationTimes(3.0, 2.8, passes=20, steps=60, where=VALID)
RUN = RunTimes(epoch_s=6.0)


def validated(times, **how):
    return step_bound(**{"validation": times, "run": RUN, "epochs": 20, **how})


def test_slow_validation():
    slow = validated(SLOW)
    assert slow.names() == ["slow-validation"]
    finding = slow.findings()[0]
    assert str(finding.where) == "train.py:7"
    assert finding.evidence == (
        "Validation takes 3 s over 60 batches after each epoch of 6 s, and waits 2.8 s "
        "of that for its input."
    )
    assert finding.cost_ms == pytest.approx(2800 / 100)
    assert finding.fixes == (
        *("cache", "cache-before-shuffle", "parallel-map", "prefetch"),
        "validate-less",
    )
    assert validated(None).names() == []


def test_what_it_computes_is_not_waited_for_and_has_other_fixes():
    computes = validated(replace(SLOW, input_s=0.0))
    assert computes.find("slow-validation").fixes == ("validate-less",)
    assert computes.find("slow-validation").cost_ms == pytest.approx(3000 / 100)
    assert validated(replace(SLOW, seconds=1.0, input_s=0.1)).names() == []


def test_a_wait_that_nobody_saw_is_not_guessed():
    assert validated(replace(SLOW, input_s=None, seconds=1.0)).names() == []
    unseen = validated(replace(SLOW, input_s=None))
    assert "waits" not in unseen.find("slow-validation").evidence


def test_where_python_makes_the_batches_its_results_are_kept():
    for data in ("generator", "PyDataset"):
        found = validated(replace(SLOW, data=data)).find("slow-validation")
        assert found.fixes == ("keep-results", "validate-less")


def test_it_is_shared_out_over_the_epochs_that_are_not_validated():
    assert validated(replace(SLOW, every=10.0)).names() == []
    seldom = validated(replace(SLOW, every=2.0)).find("slow-validation")
    assert "after every 2 epochs of 6 s" in seldom.evidence
    assert seldom.cost_ms == pytest.approx(1400 / 100)


def test_a_single_pass_is_no_fault():
    assert validated(replace(SLOW, passes=1)).names() == []


def test_the_epoch_is_taken_as_it_was_measured():
    """By the steps, where the run does not say; by watching, where they do not."""
    short = replace(SLOW, seconds=0.6, input_s=0.5)
    assert validated(short, run=RunTimes()).names() == ["slow-validation"]
    assert validated(short).names() == []
    unknown = {"run": RunTimes(), "job": {"steps_per_epoch": None}}
    assert validated(short, **unknown).names() == []
    watched = replace(short, epoch_s=1.0)
    assert validated(watched, **unknown).names() == ["slow-validation"]
