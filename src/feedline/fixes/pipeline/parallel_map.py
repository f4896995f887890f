"""The map runs on several cores

`num_parallel_calls=tf.data.AUTOTUNE`: the function runs on several elements at once,
and the elements still come out in their order. The same elements, so the fix is exact.

If the function draws random numbers without a seed, no order of draws is fixed. With a
seed, each element gets its draws in the order in which the elements come: the function
is split, the draws are made one after the other, and only the rest runs in parallel.
Where that is not possible the map stays as it is. Functions that write to variables
(such as a Keras random layer, which advances its seed generator) are never made
parallel: two calls at once could get the same draw.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.fixes import conditions
from feedline.fixes.args import Takes, flag
from feedline.fixes.fix import CannotFix, Case, Edit, Proposal
from feedline.fixes.patching import (
    BY_HAND,
    CannotEdit,
    Patch,
    Source,
    give_threads,
    label,
    run_parallel,
)
from feedline.fixes.place import Place
from feedline.job.tfdata import ops
from feedline.job.tfdata.pipeline import Pipeline, Stage

TAKES = Takes(stage=True, args={"split": flag()})
AUTOTUNE = -1
_WRITES = ("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp")


def propose(case: Case) -> Iterator[Proposal]:
    cores = case.measured.machine.cores
    for cost in case.costs:
        stages = [s for s in case.pipeline.find(ops.MAP) if s.number == cost.index >= 0]
        if not stages or (cost.asynchronous and cost.parallelism > 1):
            continue
        stage = stages[0]
        split = {"split": True} if _needs_split(stage) else {}
        edit = Edit("parallel-map", stage.number, split)
        fits = conditions.holds(check, case.pipeline, edit)
        if not fits or not case.movable(stage):
            continue
        costs = case.with_cost(cost, asynchronous=True, parallelism=cores)
        yield Proposal(edit, "exact", stage.where, costs)


def check(pipeline: Pipeline, edit: Edit) -> Stage:
    """A map that runs on one core and may run on several, in the way of the edit."""
    stage = conditions.stage_of(pipeline, edit, ops.MAP)
    conditions.serial(stage)
    conditions.keeps_order(pipeline)
    if stage.python:
        raise CannotFix(f"{stage.label()} runs Python, one thread at a time")
    if any(op in f.ops for f in stage.functions for op in _WRITES):
        raise CannotFix(f"{stage.label()} writes to a variable")
    conditions.ahead(pipeline, stage)
    if _needs_split(stage) != bool(edit.args.get("split")):
        under = "under a seed" if _needs_split(stage) else "without a seed"
        raise CannotFix(f"{stage.label()} draws {under}, which this edit does not fit")
    return stage


def apply(pipeline: Pipeline, edit: Edit) -> Pipeline:
    stage = check(pipeline, edit)
    if edit.args.get("split"):
        from feedline.fixes.means.rewrite.draws import draw_apart

        return draw_apart(pipeline, stage)
    return pipeline.swap(stage, stage.given(num_parallel_calls=AUTOTUNE))


def _needs_split(stage: Stage) -> bool:
    """Must the draws be split off, because they belong to the elements in order?"""
    return stage.random and any(f.seeded for f in stage.functions)


def _comment(place: Place, tune: str) -> str:
    if place.edit.args.get("split"):
        return (
            f"{label(place)} draws random numbers under a seed. To run it on several "
            "cores and keep the draws, make them in a map of their own, then do the "
            f"rest in a second map with num_parallel_calls={tune}"
        )
    return give_threads(place, tune)


def _edit(source: Source, place: Place) -> None:
    if place.edit.args.get("split"):
        raise CannotEdit(BY_HAND)
    run_parallel(source, place)


PATCH = Patch(_comment, _edit)
