"""The device makes floats of the bytes it is sent

A map that turns bytes into 32-bit floats makes four bytes of one before they are
copied. Moved into the training step, the bytes cross the bus and the device does
the cast. Where the map only casts and scales, the numbers are the same: exact.

Not run on a GPU so far: its parts are tested on the CPU, with logical devices.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes import wide_transfer
from feedline.causes.look import without
from feedline.fixes.fix import Case, Edit, Grade, Kind, Proposal
from feedline.fixes.in_step import apply, install, last_map

__all__ = ["KIND", "apply", "install", "propose"]

KIND: Kind = "both"
_EXACT = {
    *("Cast", "Const", "Identity", "Mul", "RealDiv", "Sub", "AddV2", "NoOp"),
    *("ExpandDims", "Reshape", "OneHot", "ReadVariableOp"),
}


def propose(case: Case) -> Iterator[Proposal]:
    if case.job.kind != "fit" or case.job.strategy or _is_in(case):
        return
    stage = last_map(case)
    findings = list(wide_transfer.detect(case.job, case.measured))
    cost = case.cost(stage) if stage is not None else None
    if stage is None or cost is None or not findings or not case.movable(stage):
        return
    ops = {op for function in stage.functions for op in function.ops}
    grade: Grade = "exact" if ops <= _EXACT else "numeric"
    saved = findings[0].cost_ms
    step = case.measured.step
    yield Proposal(
        Edit("cast-on-device", stage.number),
        grade,
        stage.where,
        costs=without(case.measured, [cost]),
        step_ms=max(step.ceiling.value - saved, 0.0),
    )


def _is_in(case: Case) -> bool:
    return any(edit.fix.endswith("-on-device") for edit in case.edits)
