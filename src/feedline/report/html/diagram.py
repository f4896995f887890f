"""The pipeline as a diagram: one node for each stage, in the order the data goes.

Wider and darker means more expensive, on one scale with the training step at the end.
Where a stage is not fed by the one above it, the node says by which.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from feedline.report.format import ms
from feedline.report.report import Report, StageRow

HEATS = 5


@dataclass(frozen=True)
class Node:
    """`width` is in percent of the dearest, `heat` from 0 to HEATS - 1.
    `begins`: nothing above feeds it; `loose`: what follows does not wait for it."""

    stage: StageRow
    label: str
    width: float
    heat: int
    how: tuple[str, ...]
    begins: bool = False
    joins: tuple[str, ...] = ()
    loose: bool = False
    after: str = ""


def nodes(report: Report) -> tuple[Node, ...]:
    rows = report.stages
    most = dearest(report)
    later = _after(report)
    made = []
    for place, (row, key) in enumerate(zip(rows, _keys(rows), strict=True)):
        cost = row.ms_per_step / most if _known(row) and most > 0 else 0.0
        feeding = _feeding(place, rows)
        made.append(
            Node(
                stage=row,
                label=_label(row),
                width=round(100 * cost, 1),
                heat=min(HEATS - 1, int(cost * HEATS)),
                how=tuple(_how(row)),
                begins=feeding == (),
                joins=_joins(place, feeding, rows),
                loose=row.ahead,
                after=later.get(key, ""),
            )
        )
    return tuple(made)


def dearest(report: Report) -> float:
    """The dearest of all stages and the step alone, in milliseconds per step."""
    alone = report.step.ceiling_ms
    costs = [row.ms_per_step for row in report.stages if _known(row)]
    return max([*costs, alone if math.isfinite(alone) else 0.0], default=0.0)


def _known(row: StageRow) -> bool:
    return math.isfinite(row.ms_per_step) and row.ms_per_step >= 0


def _label(row: StageRow) -> str:
    return row.label or row.name


def _how(row: StageRow) -> list[str]:
    """How it runs, in a few words each."""
    told = []
    if row.python:
        told.append("Python")
    if row.parallelism > 1:
        told.append(f"{row.parallelism:,} threads")
    if row.ahead:
        told.append("works ahead")
    if row.added:
        told.append("added by TensorFlow")
    if row.first_ms_per_step is not None and row.ms_per_step == 0:
        told.append(f"{ms(row.first_ms_per_step)} in the first epoch, then cached")
    if math.isfinite(row.busy) and row.busy < 0.9 and row.ms_per_step > 0:
        told.append(f"waits {100 * (1 - row.busy):.0f} % of its time")
    return told


def _feeding(place: int, rows: tuple[StageRow, ...]) -> tuple[int, ...]:
    inputs = rows[place].inputs
    if inputs is None or any(not 0 <= other < place for other in inputs):
        return (place - 1,) if place else ()
    return inputs


def _joins(
    place: int, feeding: tuple[int, ...], rows: tuple[StageRow, ...]
) -> tuple[str, ...]:
    """What feeds it, where that is not just the stage above."""
    if feeding in ((), (place - 1,)):
        return ()
    return tuple(_label(rows[other]) for other in feeding)


_Key = tuple[str, str | None, int]


def _keys(rows: Sequence[StageRow]) -> list[_Key]:
    """What names a stage before and after: two on one line may be called the same."""
    seen: Counter[tuple[str, str | None]] = Counter()
    keys = []
    for row in rows:
        name = (_label(row), row.where)
        keys.append((*name, seen[name]))
        seen[name] += 1
    return keys


def _after(report: Report) -> dict[_Key, str]:
    """What the fixes are expected to change about a stage."""
    if report.after is None:
        return {}
    before = dict(zip(_keys(report.stages), report.stages, strict=True))
    rows = report.after.stages
    told = {}
    for key, row in zip(_keys(rows), rows, strict=True):
        if (was := before.get(key)) is None:
            continue
        changes = []
        cached = row.first_ms_per_step is not None
        if cached and was.ms_per_step > row.ms_per_step == 0:
            changes.append("cached after the first epoch")
        elif _known(row) and abs(row.ms_per_step - was.ms_per_step) > 1e-9:
            changes.append(f"{ms(row.ms_per_step)} expected")
        if row.parallelism != was.parallelism:
            changes.append(f"{row.parallelism:,} threads")
        if row.ahead and not was.ahead:
            changes.append("works ahead")
        if changes:
            told[key] = ", ".join(changes)
    return told
