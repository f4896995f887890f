"""The device makes floats of the bytes it is sent

A map that turns bytes into 32-bit floats makes four bytes of one before they are
copied. Moved into the training step, the bytes cross the bus and the device does
the cast. Where the map only casts and scales, the numbers are the same: exact.

Not run on a GPU so far: its parts are tested on the CPU, with logical devices.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes import wide_transfer
from feedline.causes.asking import without
from feedline.fixes import conditions, in_step
from feedline.fixes.args import Takes, flag
from feedline.fixes.fix import CannotFix, Case, Edit, Grade, Proposal
from feedline.fixes.in_step import last_map
from feedline.fixes.patching import Patch
from feedline.fixes.target import Target, Undo
from feedline.job.tfdata.pipeline import Pipeline, Stage

TAKES = Takes(stage=True, args={"rounds": flag()})
_EXACT = {
    *("Cast", "Const", "Identity", "Mul", "RealDiv", "Sub", "AddV2", "NoOp"),
    *("ExpandDims", "Reshape", "OneHot", "ReadVariableOp"),
}


def propose(case: Case) -> Iterator[Proposal]:
    if case.job.kind != "fit" or case.job.strategy or _is_in(case):
        return
    stage = last_map(case.pipeline)
    findings = list(wide_transfer.detect(case.job, case.measured))
    cost = case.cost(stage) if stage is not None else None
    if stage is None or cost is None or not findings or not case.movable(stage):
        return
    rounds = {} if _only_casts(stage) else {"rounds": True}
    edit = Edit("cast-on-device", stage.number, rounds)
    if not conditions.holds(check, case.pipeline, edit):
        return
    saved = findings[0].cost_ms
    step = case.measured.step
    yield Proposal(
        edit,
        least(edit),
        stage.where,
        costs=without(case.measured, [cost]),
        step_ms=max(step.ceiling.value - saved, 0.0),
    )


def least(edit: Edit) -> Grade:
    return "numeric" if edit.args.get("rounds") else "exact"


def check(pipeline: Pipeline, edit: Edit) -> Stage:
    """The last map; unless the edit says that it rounds, one that only casts."""
    stage = in_step.check(pipeline, edit)
    if not edit.args.get("rounds") and not _only_casts(stage):
        raise CannotFix(f"{stage.label()} does more than cast and scale")
    return stage


def apply(pipeline: Pipeline, edit: Edit) -> Pipeline:
    check(pipeline, edit)
    return in_step.apply(pipeline, edit)


def install(target: Target, edit: Edit) -> Undo:
    if target.pipeline is not None:
        check(target.pipeline, edit)
    return in_step.install(target, edit)


def _only_casts(stage: Stage) -> bool:
    return {op for function in stage.functions for op in function.ops} <= _EXACT


def _is_in(case: Case) -> bool:
    return any(edit.fix.endswith("-on-device") for edit in case.edits)


PATCH = Patch(in_step.comment)
