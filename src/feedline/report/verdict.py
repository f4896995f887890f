"""The one sentence that comes first, from the report's own rows.

It says where the time goes, then which line is to blame. When nothing on the
input side would help, it says that instead, and how near the ceiling the job
is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from feedline import causes
from feedline.report.format import ms, number, percent, ratio, seconds, times
from feedline.report.report import FindingRow, RunRow, StepRow, ValidationRow

PREPARATION = "slow-preparation"
VALIDATION = "slow-validation"

_WORTH_SAYING = 0.05
_SHORT_S = 0.1
NEAR_CEILING = 0.1
"""A job this near its ceiling is told that its input is not the matter."""


def sentence(
    *,
    bound: str,
    shares: Mapping[str, float],
    step: StepRow,
    run: RunRow,
    findings: Sequence[FindingRow] = (),
    label: str = "",
    validation: ValidationRow | None = None,
) -> str:
    """The verdict. `findings` are ranked; `label` names what the first one
    points at (`map(load)`), its source line standing in where it is empty."""
    first = next(iter(findings), None)
    if first is not None and first.cause == PREPARATION:
        return _preparing(run)
    if first is not None and first.cause == VALIDATION and validation is not None:
        return _validating(first, validation)
    blame = _blame(first, label) if first is not None else ""
    if first is None or first.cost_ms <= 0:
        fault = f" A fault that costs no time: {blame}." if blame else ""
        return _nothing_found(bound, percent(shares[bound]), step) + fault
    part = _part(first, shares, bound)
    if part == bound:
        return f"{_where_time_goes(bound, shares)}: {blame}."
    # Most of the time goes elsewhere, and the bar under this sentence shows it.
    about = (f for f in findings if f.cost_ms > 0 and f.cause != VALIDATION)
    there = next((f for f in about if _part(f, shares, bound) == bound), None)
    if there is not None:
        most = f"{_where_time_goes(bound, shares)}: {_blame(there, '')}."
    else:
        most = _nothing_found(bound, percent(shares[bound]), step)
    if part == "compute":
        return f"{most} Inside the step: {blame}."
    return f"{most} {_where_time_goes(part, shares)}: {blame}."


def _part(finding: FindingRow, shares: Mapping[str, float], bound: str) -> str:
    """The largest part of a step that the finding's cause is about; what takes most
    where the cause is not known."""
    cause = causes.all().get(finding.cause)
    if cause is None:
        return bound
    if not cause.concerns:
        return bound
    return max(cause.concerns, key=lambda part: (shares.get(part, 0.0), part == bound))


def _where_time_goes(part: str, shares: Mapping[str, float]) -> str:
    return _WHERE_TIME_GOES[part].format(percent(shares.get(part, 0.0)))


_WHERE_TIME_GOES = {
    "input": "The model waits for input {} of the time",
    "transfer": "Copying batches to the device takes {} of the time",
    "overhead": "Starting the step takes {} of the time, however little it computes",
    "compute": "The model computes {} of the time",
}


def _preparing(run: RunRow) -> str:
    takes = f"Preparing takes {seconds(run.prepare_s)}"
    if run.train_s is not None:
        takes += f", training {seconds(run.train_s)}"
    if not run.slowest_lines:
        return f"{takes}."
    line = run.slowest_lines[0]
    if line.seconds >= run.prepare_s / 2:
        return f"{takes}: most of it in {line.where}{_quoted(line.code)}."
    spent = seconds(line.seconds)
    return f"{takes}: the slowest line, {spent}, is {line.where}{_quoted(line.code)}."


def _validating(finding: FindingRow, row: ValidationRow) -> str:
    where = "" if finding.where is None else f": {finding.where}{_quoted(finding.code)}"
    return f"{validating(row)}{where}."


def worth_a_line(row: ValidationRow) -> bool:
    """Is the validation a part of the training, or was it made faster?"""
    known = (
        row.epoch_s is None or row.seconds >= _WORTH_SAYING * row.every * row.epoch_s
    )
    return known or bool(row.fixed)


def validating(row: ValidationRow) -> str:
    """`Validation takes 3.1 s after each epoch of 6.4 s, 2.9 s of it waiting for its
    input`."""
    epoch = f" of {_short(row.epoch_s)}" if row.epoch_s is not None else ""
    waits = ""
    if row.input_s is not None and row.input_s >= _WORTH_SAYING * row.seconds:
        waits = f", {_short(row.input_s)} of it waiting for its input"
    takes = f"Validation takes {_short(row.seconds)}"
    return f"{takes} after {how_often(row)}{epoch}{waits}"


def _short(value: float) -> str:
    return ms(1e3 * value) if value < _SHORT_S else seconds(value)


def how_often(row: ValidationRow) -> str:
    return f"every {number(row.every)} epochs" if row.every > 1 else "each epoch"


def _nothing_found(bound: str, share: str, step: StepRow) -> str:
    gain = ratio(step.observed_ms, step.ceiling_ms)
    if bound != "compute":
        return f"{_WHERE_TIME_GOES[bound].format(share)}; no known cause was found."
    if gain is None:
        return f"The model computes {share} of the time; its ceiling is not known."
    gap = max(0.0, 1 - 1 / gain)
    if gap <= NEAR_CEILING:
        within = max(1, math.ceil(gap * 100))
        return (
            f"Nothing on the input side would help: the model computes {share} of "
            f"the step, which is within {within} % of its ceiling."
        )
    return (
        f"The model computes {share} of the time; the best input could make the "
        f"step at most {times(gain)} faster, and no known cause was found."
    )


def _blame(finding: FindingRow, label: str) -> str:
    """`train.py:41 map(load): a map runs on one core`, as far as it is known."""
    title = finding.title.rstrip(". ") or finding.cause
    if finding.where is None:
        return _lowered(title)
    return f"{finding.where}{_quoted(label or finding.code)}: {_lowered(title)}"


def _lowered(title: str) -> str:
    """Title case off the first word, unless it is a name such as `GPU`."""
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]


def _quoted(code: str, width: int = 48) -> str:
    code = " ".join(code.split())
    if not code:
        return ""
    return f" `{code if len(code) <= width else code[: width - 3] + '...'}`"
