"""What the fixes share that give one map another function for the same work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from feedline.fixes import conditions
from feedline.fixes.fix import CannotFix, Case, Edit, Grade, Proposal
from feedline.job.tfdata import ops
from feedline.job.tfdata.pipeline import Pipeline, Stage

Fits = Callable[[set[str]], bool]
"""Do the operations of a map's function fit?"""


def proposals(
    case: Case, fix: str, grade: Grade, fits: Fits, share: float
) -> Iterator[Proposal]:
    """For every map whose operations fit, expected to take `share` of its time."""
    for stage in case.pipeline.find(ops.MAP):
        cost, edit = case.cost(stage), Edit(fix, stage.number)
        if cost is None or stage.number < 0 or not case.movable(stage):
            continue
        if not conditions.holds(check, case.pipeline, edit, fits):
            continue
        costs = case.with_cost(cost, ms_per_batch=cost.ms_per_batch * share)
        yield Proposal(edit, grade, stage.where, costs)


def check(pipeline: Pipeline, edit: Edit, fits: Fits) -> Stage:
    """A map as it was read, of operations that fit and that only compute."""
    stage = conditions.stage_of(pipeline, edit, ops.MAP)
    kernels = {op for function in stage.functions for op in function.ops}
    if not fits(kernels):
        raise CannotFix(f"{stage.label()} does not do what {edit.fix} is for")
    if stage.python:
        raise CannotFix(f"{stage.label()} runs Python")
    if "func" in stage.args:
        raise CannotFix(f"{stage.label()} was given another function already")
    conditions.alone(stage)
    return stage


def rewritten(
    pipeline: Pipeline,
    edit: Edit,
    fits: Fits,
    rewrite: Callable[[Stage], Callable[..., Any]],
) -> Pipeline:
    stage = check(pipeline, edit, fits)
    return pipeline.swap(stage, stage.given(func=rewrite(stage)))
