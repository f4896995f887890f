"""A Report as text for a terminal or a log file.

Laid out by hand in lines of at most `width` cells and never a box, so that it
reads the same in 60 columns, in a log, and where only ASCII can be shown.
Everything that came from the script goes through `printable` first and is
never parsed as markup.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import TextIO

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from feedline.files.sizes import size
from feedline.measure.profile.kinds import LABELS
from feedline.report.cured import after, fixes
from feedline.report.format import ms, number, percent, ratio, seconds, times
from feedline.report.page import Page
from feedline.report.report import (
    SHARES,
    FindingRow,
    Report,
    StageRow,
    ValidationRow,
)
from feedline.report.verdict import PREPARATION, validating, worth_a_line

COLORS = {
    "input": "red",
    "transfer": "magenta",
    "overhead": "yellow",
    "compute": "green",
}
BLOCKS = {"input": "█", "transfer": "▓", "overhead": "▒", "compute": "░"}
ASCII_BLOCKS = {"input": "#", "transfer": "=", "overhead": "-", "compute": "."}


def show(
    report: Report, file: TextIO | None = None, *, color: bool | None = None
) -> None:
    """Print the report. Colour is used on a terminal, unless NO_COLOR is set."""
    out = sys.stdout if file is None else file
    terminal = out.isatty()
    if color is None:
        color = terminal and not os.environ.get("NO_COLOR")
    width = min(shutil.get_terminal_size().columns, 100) if terminal else 80
    encoding = getattr(out, "encoding", None) or "utf-8"
    out.write(render(report, width=width, color=color, encoding=encoding))
    out.flush()


def render(
    report: Report, *, width: int = 80, color: bool = False, encoding: str = "utf-8"
) -> str:
    """The whole report as text, no line beyond `width`, which is at least 40."""
    page = Page(max(40, width), encoding)
    parts = [
        _verdict(page, report),
        _bar(page, report),
        _numbers(page, report),
        _parts(page, report),
        _stages(page, report),
        _findings(page, report),
        fixes(page, report),
        after(page, report),
        _list(page, "Not known", report.unknown),
        _list(page, "Notes", report.notes),
        _closing(page, report),
    ]
    blocks = [[*part] for part in parts]
    for line in (line for block in blocks for line in block):
        line.rstrip()
    text = Text("\n\n").join(Text("\n").join(block) for block in blocks if block)
    out = io.StringIO()
    console = Console(
        file=out,
        width=page.width,
        force_terminal=color,
        color_system="standard" if color else None,
        legacy_windows=False,
        highlight=False,
        _environ={},
    )
    console.print(text, soft_wrap=True)
    return out.getvalue()


def _verdict(page: Page, report: Report) -> Iterator[Text]:
    if report.script:
        what = report.script + (f", {report.loop}" if report.loop else "")
        yield Text(page.fit(what, page.width), "dim")
        yield Text()
    yield from page.wrap(report.verdict, style="bold")


def _bar(page: Page, report: Report) -> Iterator[Text]:
    """One row of blocks, then what each block means."""
    blocks = BLOCKS if page.rich else ASCII_BLOCKS
    bar, key = Text("  "), []
    for name, cells in _cells(report.shares, page.width - 4).items():
        bar.append(blocks[name] * cells, COLORS.get(name, "green"))
        share = percent(report.shares[name])
        key.append(
            Text(blocks[name], COLORS.get(name, "green")).append(f" {name} {share}")
        )
    yield bar
    line = Text("  ")
    for entry in key:
        if cell_len(line.plain) + cell_len(entry.plain) > page.width:
            yield line
            line = Text("  ")
        line.append_text(entry).append("   ")
    yield line


def _cells(shares: dict[str, float], width: int) -> dict[str, int]:
    """Cells for each share; they fill the width, the largest takes the rest."""
    cells = {name: int(shares[name] * width + 0.5) for name in SHARES}
    largest = max(SHARES, key=lambda name: shares[name])
    cells[largest] += width - sum(cells.values())
    return cells


def _numbers(page: Page, report: Report) -> Iterator[Text]:
    """The step, the run and the machine, each behind its heading."""
    indent = " " * 9
    step = report.step
    low, high = step.interval_ms
    batch = f", batch of {step.batch_size}" if step.batch_size is not None else ""
    interval = f"{number(low)} to {number(high)} in {step.steps} steps{batch}"
    if step.steps == 1:
        interval = f"in 1 step{batch}"
    facts = [
        f"{ms(step.observed_ms)} observed ({interval})",
        f"{ms(step.ceiling_ms)} {_ceiling(report)}",
    ]
    if step.input_alone_ms is not None:
        facts.append(f"{ms(step.input_alone_ms)} for the input alone")
    for fact, head in zip(facts, ["Step     "] + [indent] * 2, strict=False):
        yield from page.wrap(fact, first=head, indent=indent)
    if not report.only_observed:
        yield from page.wrap(_run(report), first="Run      ", indent=indent)
    if report.validation is not None and worth_a_line(report.validation):
        yield from page.wrap(
            _validation(report.validation), first=indent, indent=indent
        )
    if _preparing_matters(report):
        for line in report.run.slowest_lines[:3]:
            row = f"{seconds(line.seconds)}  {line.where}  {line.code}"
            yield Text(indent + "  " + page.fit(row, page.width - 11), "dim")
    yield from page.wrap(_machine(report), first="Machine  ", indent=indent)


def _machine(report: Report) -> str:
    machine = report.machine
    devices = ", ".join(machine.devices)
    cores = f"{machine.cores} core" + ("s" if machine.cores != 1 else "")
    if report.only_observed and report.trace is not None:
        return f"{devices}; {cores} or more on the host"
    return f"{cores}, {machine.memory_gb:.0f} GB, {devices}"


def _ceiling(report: Report) -> str:
    if report.only_observed:
        return "without waiting for input and copies"
    return f"at the ceiling: {_best(report)}"


def _best(report: Report) -> str:
    gain = ratio(report.step.observed_ms, report.step.ceiling_ms)
    if gain is None:
        return "what the best input could give is not known"
    if gain < 1.05:
        return "no input pipeline could make it faster"
    return f"at most {times(gain)} faster with the best input"


def _run(report: Report) -> str:
    run = report.run
    train = "for an unknown time" if run.train_s is None else seconds(run.train_s)
    start = ""
    if run.epoch_start_s is not None and run.epoch_start_s >= 0.1:
        start = f"; each epoch takes {seconds(run.epoch_start_s)} to start"
    if run.ends_wait and run.pass_end_wait_s is not None:
        start += (
            f"; {run.passes_waited} of {run.passes_ended} passes over the data ended "
            f"with a wait of {seconds(run.pass_end_wait_s)} for tf.data's AUTOTUNE "
            "thread, which `feedline run` avoids"
        )
    return (
        f"imports {seconds(run.import_s)}, preparing {seconds(run.prepare_s)}, "
        f"tracing {seconds(run.trace_s)}, training {train}{start}"
    )


def _validation(row: ValidationRow) -> str:
    text = validating(row)
    if row.fixed and row.after_s is not None:
        text += f"; {seconds(row.after_s)} with {', '.join(row.fixed)}"
        if row.saved_s is not None and row.saved_s > 0:
            text += f", saved {seconds(row.saved_s)} in {row.after_passes} passes"
    elif row.fixed and row.speedup is not None:
        text += f"; {times(row.speedup)} as fast with {', '.join(row.fixed)}"
    return text


def _preparing_matters(report: Report) -> bool:
    run = report.run
    first = report.findings[0] if report.findings else None
    known = run.import_s + run.prepare_s + run.trace_s + (run.train_s or 0.0)
    large = run.prepare_s >= max(1.0, known / 10)
    return large or (first is not None and first.cause == PREPARATION)


def _parts(page: Page, report: Report) -> Iterator[Text]:
    """What a capture saw, down to what it does not explain."""
    trace = report.trace
    if trace is None or not report.only_observed:
        return
    head = f"{'ms per step':>13}  {'share':>6}"
    title = "In the capture"
    yield Text(title, "bold").append(
        " " * (page.width - len(title) - len(head)) + head, "not bold dim"
    )
    for part in sorted(trace.parts, key=lambda part: -part.share):
        if part.ms > 0 or part.kind == "unknown":
            figures = f"{ms(part.ms).removesuffix(' ms'):>13}  {percent(part.share):>6}"
            room = page.width - 2 - len(figures)
            what = page.fit(LABELS.get(part.kind, part.kind), room)
            yield Text(f"  {set_cell_size(what, room)}{figures}")


def _stages(page: Page, report: Report) -> Iterator[Text]:
    """A table. In a narrow page the last columns go, then names are shortened."""
    if not report.stages:
        return
    table = [_HEAD, *(_figures(stage) for stage in report.stages)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    while len(widths) > 2 and _room(page, widths) < _NAMES:
        widths.pop()
    room = _room(page, widths)
    lines = [page.safe(stage.where or "-") for stage in report.stages]
    line_width = min(max(map(cell_len, lines)), room // 2)
    name_width = room - line_width
    heads = _columns(_HEAD, widths)
    yield Text("Stages", "bold").append(" " * (room - 2) + heads, "not bold dim")
    for stage, where, figures in zip(report.stages, lines, table[1:], strict=True):
        name = page.fit(stage.label or stage.name, name_width)
        row = (
            f"  {set_cell_size(name, name_width)}"
            f"  {set_cell_size(page.fit(where, line_width), line_width)}"
            f"{_columns(figures, widths)}"
        )
        yield Text(row, "bold" if stage.share >= 0.5 else "")
    yield from _first_epoch(page, report)


def _first_epoch(page: Page, report: Report) -> Iterator[Text]:
    """What a cache of the script's own saves, and what that costs once."""
    once = [stage.first_ms_per_step or 0.0 for stage in report.stages]
    if any(once):
        text = (
            "What is before a cache runs in the first epoch only, for "
            f"{ms(sum(once))} per step."
        )
        yield from page.wrap(text, first="  ", indent="  ")


_HEAD = ("ms per step", "share", "threads", "element")
_NAMES = 24  # cells that a name and a line want between them


def _room(page: Page, widths: Sequence[int]) -> int:
    return page.width - 4 - sum(widths) - 2 * len(widths)


def _columns(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "".join(f"  {c:>{w}}" for c, w in zip(cells, widths, strict=False))


def _figures(stage: StageRow) -> tuple[str, str, str, str]:
    return (
        ms(stage.ms_per_step).removesuffix(" ms"),
        percent(stage.share),
        str(stage.parallelism),
        size(stage.bytes_per_element) if stage.bytes_per_element else "-",
    )


def _findings(page: Page, report: Report) -> Iterator[Text]:
    if not report.findings:
        yield Text("No known cause of slowness was found.")
        return
    yield Text("Findings", "bold")
    for rank, finding in enumerate(report.findings, 1):
        yield from _finding(page, rank, finding, report.step.observed_ms)


def _finding(
    page: Page, rank: int, finding: FindingRow, observed_ms: float
) -> Iterator[Text]:
    cost = "costs no time"
    if finding.cost_ms > 0:
        share = ratio(finding.cost_ms, observed_ms)
        cost = f"{ms(finding.cost_ms)}, {percent(share)} of the step"
    indent = " " * 5
    head = Text(f"{rank:>3}. {page.fit(finding.cause, page.width - 5)}", "bold red")
    if head.cell_len + 2 + cell_len(cost) <= page.width:
        yield head.append(f"  {cost}", "not bold default")
    else:
        yield head
        yield from page.wrap(cost, first=indent, indent=indent)
    if finding.where is not None:
        line = f"{finding.where}  {finding.code}"
        yield Text(indent + page.fit(line, page.width - 5), "cyan")
    text = f"{finding.title.rstrip('. ')}. " if finding.title else ""
    yield from page.wrap(text + finding.evidence, first=indent, indent=indent)
    if finding.fixes:
        fixes = f"fix: {', '.join(finding.fixes)}"
        yield from page.wrap(fixes, first=indent, indent=indent, style="green")


def _list(page: Page, heading: str, entries: Sequence[str]) -> Iterator[Text]:
    if entries:
        yield Text(heading, "bold")
    for entry in entries:
        yield from page.wrap(entry, first="  - ", indent="    ")


def _closing(page: Page, report: Report) -> Iterator[Text]:
    if report.findings:
        cause = report.findings[0].cause
        hint = f"More about it: feedline explain {cause}"
        yield from page.wrap(hint, indent="  ")
    after = report.after
    spent = report.seconds if after is None else after.measuring_s or report.seconds
    took = f"Measured in {seconds(spent)} by feedline {report.version}."
    if report.only_observed and report.trace is None:
        row = report.validation
        what = "nothing" if row is None or row.watched else "only the validation"
        took = f"Observed in passing by feedline {report.version}; {what} was tried."
    elif report.only_observed:
        took = (
            f"Observed in a capture by feedline {report.version}; nothing was tried. "
            "feedline why tries it on the job itself."
        )
    yield from page.wrap(took, style="dim")
