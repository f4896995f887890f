"""The terminal report: what a reader sees, at any width, in any encoding."""

from __future__ import annotations

import io
import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from feedline.report.report import FindingRow, FixRow, StageRow, ValidationRow
from feedline.report.terminal import render
from tests.report.samples import reports, sample


def test_the_verdict_comes_first_and_everything_is_there():
    text = render(sample())
    lines = text.splitlines()
    assert lines[2].startswith("The model waits for input 87 % of the time")
    for wanted in (
        "input 87 %",
        "84.2 ms observed (82.9 to 85.6",
        "at most 9.3 x faster",
        "preparing 10 s",
        "7.9 s train.py:12 text = clean(raw)",
        "map(load)",
        "602 kB",
        "1. serial-map  61.0 ms, 72 % of the step",
        "train.py:41 images = files.map(load)",
        "fix: parallel-map",
        "the overhead: only one batch size was tried",
        "feedline explain serial-map",
    ):
        assert wanted in text
    assert "\x1b" not in text


@given(reports(), st.integers(40, 120), st.sampled_from(["utf-8", "ascii", "cp1252"]))
@settings(max_examples=60, deadline=None)
def test_no_line_is_wider_than_the_page(report, width, encoding):
    text = render(report, width=width, encoding=encoding)
    text.encode(encoding)
    for line in text.splitlines():
        assert cell_len(line) <= width
        assert line == line.rstrip()


@given(reports())
@settings(max_examples=30, deadline=None)
def test_control_characters_never_reach_the_terminal(report):
    text = render(report)
    assert all(c == "\n" or c.isprintable() for c in text)


def said_of(row):
    return " ".join(render(sample(validation=row)).split())


def test_the_validation_has_a_line_where_it_is_worth_one():
    row = ValidationRow(3.14, 2.9, 0.24, 6.4, passes=20)
    line = "Validation takes 3.1 s after each epoch of 6.4 s, 2.9 s of it waiting"
    assert line in said_of(row)
    assert "Validation" not in said_of(None)
    assert "Validation" not in said_of(replace(row, seconds=0.3))
    cache = FixRow("cache", "exact", 5.0, 6.0, (5.5, 6.5), True)
    left = FixRow("prefetch", "exact", 1.1, 1.0, (0.9, 1.1), False)
    fixed = replace(row, fixes=(cache, left), speedup=6.0, interval=(5.5, 6.5))
    assert "for its input; 6.0 x as fast with cache" in said_of(fixed)
    after = replace(fixed, after_passes=20, after_s=0.51, saved_s=52.6)
    assert "; 0.5 s with cache, saved 53 s in 20 passes" in said_of(after)


def test_waits_at_the_end_of_a_pass():
    assert "AUTOTUNE thread" not in render(sample())
    run = replace(sample().run, passes_ended=18, passes_waited=7, pass_end_wait_s=0.412)
    text = " ".join(render(sample(run=run)).split())
    assert "7 of 18 passes over the data ended with a wait of 0.4 s for" in text


def test_markup_of_the_script_is_shown_not_obeyed():
    row = FindingRow("serial-map", "[bold]a.py:1", 1.0, "[red]x[/red] \x1b[31m", ())
    text = render(sample(findings=(row,)), color=True)
    assert "[red]x[/red] \\x1b[31m" in text
    assert "[bold]a.py:1" in text


def test_colour_only_when_asked():
    assert "\x1b[" in render(sample(), color=True)
    assert "\x1b[" not in render(sample(), color=False)


def test_the_bar_needs_no_colour():
    bar = render(sample(), width=64, encoding="ascii").splitlines()[5]
    assert bar == "  " + "#" * 52 + "=" + "-" * 4 + "." * 3


def test_what_was_not_measured_is_a_question_mark():
    report = sample()
    step = replace(report.step, ceiling_ms=math.nan, interval_ms=(math.nan, math.inf))
    text = render(replace(report, step=step))
    assert "? ms at the ceiling" in text
    assert "(? to ?" in text


def test_a_job_without_fault_says_so():
    text = render(sample(findings=(), stages=(), unknown=()))
    assert "No known cause of slowness was found." in text
    assert "Stages" not in text
    assert "Not known" not in text


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_long_path_keeps_its_ends(width):
    where = "a/very/long/" * 20 + "train.py:41"
    row = StageRow("map", where, 1.0, 1.0, 1.0, 1.0)
    text = render(sample(stages=(row,)), width=width)
    line = next(line for line in text.splitlines() if line.startswith("  map"))
    assert "…" in line
    assert ":41" in line


def test_show_writes_plain_text_to_a_file():
    file = io.StringIO()
    sample().show(file)
    assert file.getvalue() == render(sample())
    ascii_file = io.TextIOWrapper(io.BytesIO(), "ascii")
    sample().show(ascii_file)
