"""The judge itself: what counts as agreeing with a script's docstring."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.verdicts.truth import (
    Truth,
    Verdict,
    as_markdown,
    confusion,
    contradictions,
    read_truth,
)

JOB = Path("job.py")


def saying(*found: str, bound: str = "input") -> Verdict:
    return Verdict(found, bound, "")


def test_truth_is_read_from_the_docstring(tmp_path):
    script = tmp_path / "job.py"
    script.write_text('"""Slow.\n\nCause: a | b\nBound: input\nNot: c\n"""\n', "utf-8")
    truth = read_truth(script)
    assert truth == Truth(script, ("a", "b"), bounds=("input",), cured=("c",))


def test_a_script_that_states_no_cause_has_no_truth(tmp_path):
    script = tmp_path / "helper.py"
    script.write_text('"""Not a job."""\n', "utf-8")
    assert read_truth(script) is None


@pytest.mark.parametrize(
    ("truth", "verdict"),
    [
        (Truth(JOB, ("a", "b")), saying("b", "c")),
        (Truth(JOB, ("none",)), saying()),
        (Truth(JOB, ("none",), cured=("a",)), saying("b")),
        (Truth(JOB, ("a",), named=("b",)), saying("a", "b")),
        (Truth(JOB, ("a",), bounds=("input", "compute")), saying("a")),
    ],
)
def test_right(truth, verdict):
    assert contradictions(truth, verdict) == []


@pytest.mark.parametrize(
    ("truth", "verdict"),
    [
        (Truth(JOB, ("a",)), saying("b", "a")),
        (Truth(JOB, ("a",)), saying()),
        (Truth(JOB, ("none",)), saying("a")),
        (Truth(JOB, ("none",), cured=("a",)), saying("b", "a")),
        (Truth(JOB, ("b",), cured=("a",)), saying("c")),
        (Truth(JOB, ("a",), named=("b",)), saying("a")),
        (Truth(JOB, ("a",), bounds=("compute",)), saying("a")),
    ],
)
def test_wrong(truth, verdict):
    assert contradictions(truth, verdict)


def test_the_table_counts_what_was_planted_and_what_was_named():
    rows = confusion(
        [
            (Truth(JOB, ("a",)), saying("a")),
            (Truth(JOB, ("a",)), saying("a")),
            (Truth(JOB, ("a",)), saying("b")),
            (Truth(JOB, ("none",), cured=("a",)), None),
        ]
    )
    assert rows == [
        ("a", "a", "2", "2"),
        ("a", "b", "1", "0"),
        ("cured of a", "(no verdict)", "1", "0"),
    ]
    assert as_markdown(rows).splitlines()[2].split("|")[1].strip() == "a"
