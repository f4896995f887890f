"""The fixes and what they brought, as text."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from feedline.report.report import AfterRow, FixRow, ProofRow
from feedline.report.terminal import render
from tests.report.samples import reports, sample

APPLIED = FixRow(
    "parallel-map", "exact", 1.8, 1.9, (1.84, 1.97), True, "train.py:41", "x.map(load)"
)
LEFT = FixRow("prefetch", "exact", 1.1, 1.0, (0.98, 1.02), False, reason="not faster")
REFUSED = FixRow("vectorize-map", "exact", 2.0, None, None, False, reason="no batch")
AFTER = AfterRow(9.6, 8.8, (8.5, 9.1), 84.2)
PROOF = ProofRow("exact", 512, 1, text="512 batches compared bit for bit")


def shown(**changes):
    return render(sample(**changes))


def lines(text, start):
    """The part of the page that begins so."""
    return text[text.index(f"\n{start}") :]


def test_a_report_without_fixes_has_no_such_part():
    text = shown()
    for word in ("Fixes", "After", "Proof"):
        assert f"\n{word}" not in text


def test_what_is_applied_and_what_is_left():
    text = lines(shown(fixes=(APPLIED, LEFT, REFUSED)), "Fixes")
    assert "parallel-map (exact)  applied" in text
    assert "train.py:41" in text
    assert "1.9 x measured (1.84 to 1.97); 1.8 x was expected." in text
    assert "prefetch (exact)  left" in text
    assert "Not faster." in text
    assert "vectorize-map (exact)  left" in text
    assert "Not measured; 2.0 x was expected. No batch." in text


def test_the_order_is_the_reports():
    text = shown(fixes=(APPLIED, LEFT, REFUSED))
    places = [text.index(f"  {fix} (") for fix in ("parallel-map", "prefetch")]
    assert places == sorted(places)


def test_a_fix_that_nobody_predicted():
    text = shown(fixes=(replace(LEFT, predicted_gain=None),))
    assert "was expected" not in text


def test_after_and_its_proof():
    text = shown(after=AFTER, proof=PROOF)
    assert "After    9.6 ms per step, 8.8 x as fast (8.5 to 9.1)" in text
    assert "Proof    exact: 512 batches compared bit for bit" in text
    assert "steps took" not in text


def test_a_proof_of_nothing_says_so():
    text = shown(after=AFTER, proof=replace(PROOF, text=""))
    assert "nothing could be compared" in text


@pytest.mark.parametrize(("saved", "told"), [(40.0, "saved 40 s"), (-3.0, None)])
def test_what_was_saved_in_time(saved, told):
    row = replace(AFTER, steps=1200, seconds=12.0, saved_s=saved, measuring_s=30.0)
    text = " ".join(shown(after=row, proof=PROOF).split())
    assert "1,200 steps took 12 s" in text
    assert "measuring took 30 s" in text
    assert ("saved" in text) == (told is not None)
    if told:
        assert told in text


def test_what_a_script_is_named_is_never_an_escape():
    text = shown(fixes=(replace(APPLIED, fix="\x1b[2J", code="\x1b]0;x\x07"),))
    assert "\x1b" not in text


@given(reports())
@settings(max_examples=30)
def test_any_report_can_be_shown(report):
    assert render(report)


@pytest.mark.slow
@given(reports())
@settings(max_examples=300)
def test_many_more_reports_can_be_shown(report):
    assert render(report)
