"""The one sentence that a reader sees first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from feedline.report.report import (
    FindingRow,
    LineRow,
    RunRow,
    StepRow,
    ValidationRow,
)
from feedline.report.verdict import sentence

RUN = RunRow(5.0, 3.0, 1.0, 60.0)
MAP = FindingRow(
    "serial-map", "train.py:41", 60.0, "", (), "A map runs on one core", "d = d.map(f)"
)


def step(observed: float = 100.0, ceiling: float = 50.0) -> StepRow:
    return StepRow(observed, ceiling, None, 32, 100, (observed, observed))


def say(bound="input", share=0.87, **changes):
    values = {
        "bound": bound,
        "shares": {bound: share},
        "step": step(),
        "run": RUN,
        **changes,
    }
    return sentence(**values)


def test_input_and_the_line_to_blame():
    assert say(findings=[MAP], label="map(load)") == (
        "The model waits for input 87 % of the time: train.py:41 `map(load)`: "
        "a map runs on one core."
    )


def test_the_source_line_stands_in_for_a_stage():
    assert "train.py:41 `d = d.map(f)`: a map" in say(findings=[MAP])


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        ("input", "The model waits for input 60 % of the time"),
        ("transfer", "Copying batches to the device takes 60 % of the time"),
        ("overhead", "Starting the step takes 60 % of the time"),
        ("compute", "The model computes 60 % of the time"),
    ],
)
def test_every_bound_with_and_without_a_finding(bound, words):
    assert say(bound, 0.6, findings=[MAP]).startswith(words)
    assert say(bound, 0.6).startswith(words)
    assert "no known cause was found" in say(bound, 0.6)


def test_near_the_ceiling_nothing_would_help():
    assert say("compute", 0.96, step=step(100.0, 98.4)) == (
        "Nothing on the input side would help: the model computes 96 % of the "
        "step, which is within 2 % of its ceiling."
    )


def test_far_from_the_ceiling_it_says_how_far():
    assert "at most 2.0 x faster" in say("compute", 0.5)


def test_an_unknown_ceiling_is_not_guessed():
    assert "not known" in say("compute", 0.5, step=step(100.0, float("nan")))


def test_the_headline_does_not_contradict_the_bar_under_it():
    launch = FindingRow(
        "launch-overhead", "a.py:9", 7.0, "", (), "Every step is launched by itself"
    )
    shares = {"input": 0.72, "overhead": 0.23, "compute": 0.05}
    assert say(findings=[launch], shares=shares) == (
        "The model waits for input 72 % of the time; no known cause was found. "
        "Starting the step takes 23 % of the time, however little it computes: "
        "a.py:9: every step is launched by itself."
    )
    assert say(findings=[launch, MAP], shares=shares).startswith(
        "The model waits for input 72 % of the time: train.py:41 `d = d.map(f)`: a map"
    )


def test_preparing_comes_first_where_it_dominates():
    line = LineRow("prep.py:12", 200.0, "for word in words:")
    run = RunRow(8.0, 312.0, 1.0, 40.0, (line,))
    cause = FindingRow("slow-preparation", "prep.py:12", 90.0, "", ())
    assert say(run=run, findings=[cause, MAP]) == (
        "Preparing takes 312 s, training 40 s: most of it in prep.py:12 "
        "`for word in words:`."
    )


def test_preparing_that_is_spread_out_names_the_slowest_line():
    run = RunRow(8.0, 312.0, 1.0, None, (LineRow("prep.py:12", 31.0),))
    cause = FindingRow("slow-preparation", "prep.py:12", 9.0, "", ())
    assert say(run=run, findings=[cause]) == (
        "Preparing takes 312 s: the slowest line, 31 s, is prep.py:12."
    )


LINE = "valid = valid.map(decode)"
SLOW = FindingRow("slow-validation", "a.py:7", 90.0, "", (), "", LINE)


def test_a_validation_that_takes_most_comes_first():
    row = ValidationRow(3.14, 2.9, 0.24, 6.4)
    assert say(findings=[SLOW, MAP], validation=row) == (
        "Validation takes 3.1 s after each epoch of 6.4 s, 2.9 s of it waiting for its "
        f"input: a.py:7 `{LINE}`."
    )
    row = replace(row, every=5.0, input_s=0.01, epoch_s=None)
    assert say(findings=[SLOW], validation=row) == (
        f"Validation takes 3.1 s after every 5.0 epochs: a.py:7 `{LINE}`."
    )


def test_a_validation_is_not_what_a_step_waits_for():
    cheap = replace(SLOW, cost_ms=9.0)
    launch = FindingRow("launch-overhead", "a.py:9", 20.0, "", (), "Every step")
    text = say(
        findings=[launch, cheap, MAP],
        shares={"input": 0.7, "overhead": 0.3},
        validation=ValidationRow(3.14, 2.9),
    )
    assert text.startswith(
        "The model waits for input 70 % of the time: train.py:41 `d = d.map(f)`: a map"
    )


def test_a_fault_that_costs_no_time_is_told_apart():
    frozen = FindingRow(
        "frozen-randomness", "a.py:3", 0.0, "", (), "A cache freezes random draws"
    )
    text = say("compute", 0.98, step=step(100.0, 99.0), findings=[frozen])
    assert text.startswith("Nothing on the input side would help")
    assert text.endswith("no time: a.py:3: a cache freezes random draws.")


def test_a_finding_without_a_line_is_still_said():
    unseen = FindingRow("accelerator-unseen", None, 5.0, "", (), "GPU is not used")
    assert say("compute", 0.9, findings=[unseen]) == (
        "The model computes 90 % of the time: GPU is not used."
    )
