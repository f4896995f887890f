"""The fixes as text: what was tried, what is applied, what it brought."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len
from rich.text import Text

from feedline.report.format import ms, number, seconds, times
from feedline.report.page import Page
from feedline.report.report import FixRow, Report

_INDENT = " " * 5


def fixes(page: Page, report: Report) -> Iterator[Text]:
    if not report.fixes:
        return
    yield Text("Fixes", "bold")
    for fix in report.fixes:
        yield from _fix(page, fix)


def _fix(page: Page, fix: FixRow) -> Iterator[Text]:
    style = "bold green" if fix.applied else "dim"
    mark = "applied" if fix.applied else "left"
    name = "  " + page.fit(f"{fix.fix} ({fix.grade})", page.width - 2)
    head = Text(name, style)
    if cell_len(name) + cell_len(mark) + 2 <= page.width:
        head.append("  " + mark, "not bold default")
    yield head
    if fix.where is not None:
        line = f"{fix.where}  {fix.code}"
        yield Text(_INDENT + page.fit(line, page.width - 5), "cyan")
    yield from page.wrap(_came_to(fix), first=_INDENT, indent=_INDENT)


def _came_to(fix: FixRow) -> str:
    expected = ""
    if fix.predicted_gain is not None:
        expected = f"; {times(fix.predicted_gain)} was expected"
    reason = f". {fix.reason[:1].upper()}{fix.reason[1:]}" if fix.reason else ""
    if fix.measured_gain is None or fix.interval is None:
        return f"Not measured{expected}{reason}."
    low, high = fix.interval
    return (
        f"{times(fix.measured_gain)} measured ({low:.2f} to {high:.2f}){expected}"
        f"{reason}."
    )


def after(page: Page, report: Report) -> Iterator[Text]:
    row = report.after
    if row is None:
        return
    indent = " " * 9
    low, high = row.interval
    text = (
        f"{ms(row.observed_ms)} per step, {times(row.speedup)} as fast "
        f"({number(low)} to {number(high)})"
    )
    yield from page.wrap(text, first="After    ", indent=indent, style="bold")
    if row.steps is not None and row.saved_s is not None and row.seconds is not None:
        without = row.seconds + row.saved_s
        saved = f"; saved {seconds(row.saved_s)}" if row.saved_s > 0 else ""
        text = (
            f"{row.steps:,} steps took {seconds(row.seconds)}; as measured before they "
            f"would have taken {seconds(without)}{saved}"
        )
        if row.measuring_s:
            text += f" (measuring took {seconds(row.measuring_s)})"
        yield from page.wrap(text, first=indent, indent=indent)
    proof = report.proof
    if proof is not None:
        what = f"{proof.same}: {proof.text or 'nothing could be compared'}"
        yield from page.wrap(what, first="Proof    ", indent=indent)
