"""What the fixes share that give one map another function for the same work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from feedline.fixes.fix import Case, Edit, Grade, Proposal, find
from feedline.job.pipeline import Pipeline, Stage


def proposals(
    case: Case, fix: str, grade: Grade, fits: Callable[[set[str]], bool], share: float
) -> Iterator[Proposal]:
    """For every map whose operations fit, expected to take `share` of its time."""
    for stage in case.pipeline.find("map"):
        cost = case.cost(stage)
        ops = {op for function in stage.functions for op in function.ops}
        if cost is None or stage.number < 0 or stage.python or not fits(ops):
            continue
        if not case.movable(stage) or "func" in stage.args:
            continue
        less = replace(cost, ms_per_batch=cost.ms_per_batch * share)
        costs = tuple(less if each is cost else each for each in case.costs)
        yield Proposal(Edit(fix, stage.number), grade, stage.where, costs)


def rewritten(
    pipeline: Pipeline, edit: Edit, rewrite: Callable[[Stage], Callable[..., Any]]
) -> Pipeline:
    stage = find(pipeline, edit.stage)
    args = {**stage.args, "func": rewrite(stage)}
    return pipeline.swap(stage, replace(stage, args=args))
