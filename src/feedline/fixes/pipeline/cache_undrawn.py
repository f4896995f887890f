"""What a random map does before it draws is computed once

A map that decodes a picture and then flips it at random gives a different result in
every epoch, so it cannot be cached. But up to its first draw it always does the same.
It is split there: what comes before is kept in memory, and only the draws and what
follows them are left for every epoch. Where file names are shuffled first, the shuffle
moves behind the cache, because it draws positions, whatever elements are there. The
same elements in the same order, with the same draws under a seed: exact.

Only where all that is kept fits into half of the free memory. If files that it reads
change, the data is read without the cache from the next epoch on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from feedline.causes.asking import passes, steps_per_pass, upstream
from feedline.fixes.args import Takes, number
from feedline.fixes.fix import CannotFix, Case, Edit, Proposal, find
from feedline.fixes.keeping import check, kept, why_not
from feedline.fixes.patching import Patch, label
from feedline.fixes.place import Place
from feedline.job.tfdata import ops
from feedline.job.tfdata.constant import reads_files, unordered, why_not_same
from feedline.job.tfdata.pipeline import Pipeline, Stage

KEEPS = True
TAKES = Takes(stage=True, args={"most": number(0)})
# What of the map is drawn and follows the draws is not known before it is tried.
_LEFT = 0.2
_PARALLEL = {"num_parallel_calls": -1, "deterministic": True}


def propose(case: Case) -> Iterator[Proposal]:
    steps = steps_per_pass(case.job, case.measured)
    if steps is None or passes(case.job) < 2:
        return
    if any(edit.fix.startswith("cache") for edit in case.edits):
        return
    room = case.measured.machine.free_memory_gb * 1e9 / 2
    for stage in case.pipeline.find(ops.MAP):
        cost = case.cost(stage)
        if cost is None or not _draws(stage) or not case.movable(stage):
            continue
        before = _order(case.pipeline, stage)
        if before is None or before.number in case.used:
            continue
        after, options = case.pipeline.after(stage), case.pipeline.options
        front = _without_order(before)
        if unordered(stage, options) or any(
            why_not(each, after, options, moved=True) for each in front
        ):
            continue
        if case.job.strategy is not None and reads_files(stage):
            continue
        spared = {each.number for each in upstream(stage)}
        yield Proposal(
            Edit(
                "cache-undrawn",
                stage.number,
                {"most": int(room / max(1.0, steps * cost.elements_per_batch))},
            ),
            "exact",
            stage.where,
            tuple(
                replace(each, ms_per_batch=_LEFT * each.ms_per_batch)
                if each.index in spared
                else each
                for each in case.costs
            ),
        )


def apply(pipeline: Pipeline, edit: Edit) -> Pipeline:
    from feedline.fixes.means.rewrite.split_draws import apart, names_and_order

    stage = find(pipeline, edit.stage)
    before = _order(pipeline, stage) if _draws(stage) else None
    if before is None:
        raise CannotFix(f"{stage.label()} cannot be split")
    parts = apart(stage)
    if parts.bytes > int(edit.args.get("most", 0)):
        raise CannotFix(f"{parts.bytes} bytes of each element are too much to keep")
    order = None
    if _shuffles(before):
        order = names_and_order(before) if before.op == ops.LIST_FILES else before
        (before,) = order.inputs
    if unordered(stage, pipeline.options):
        raise CannotFix(f"the order of {stage.label()} may be another in every pass")
    still = {**stage.args, "func": parts.still, **_PARALLEL}
    front = Stage(ops.MAP, (before,), still, where=stage.where)
    check(pipeline, front, pipeline.after(stage), edit, moved=True)
    front = kept(pipeline, front, edit)
    if order is not None:
        front = replace(order, inputs=(front,), spec=())
    drawn = {**stage.args, "func": parts.drawn}
    return pipeline.swap(
        stage, replace(stage, inputs=(front,), args=drawn, handle=None)
    )


def _draws(stage: Stage) -> bool:
    """And has a function that can be taken apart."""
    drawn = stage.op == ops.MAP and stage.random and not stage.python
    return drawn and stage.handle is not None


def _shuffles(stage: Stage) -> bool:
    return stage.op == ops.SHUFFLE or (
        stage.op == ops.LIST_FILES and bool(stage.args.get("shuffle"))
    )


def _order(pipeline: Pipeline, stage: Stage) -> Stage | None:
    """What feeds the map, if that is the same in every epoch but for one shuffle
    right before the map."""
    (before,) = stage.inputs
    readers = sum(before is e for s in pipeline.stages() for e in s.inputs)
    if _shuffles(before) and before.args.get("reshuffle_each_iteration") is False:
        return None
    steady = all(
        not why_not_same(front) and not any(each.python for each in upstream(front))
        for front in _without_order(before)
    )
    return before if steady and readers == 1 else None


def _without_order(before: Stage) -> tuple[Stage, ...]:
    """What stands before a shuffle, or the stage itself where it is none."""
    return before.inputs if _shuffles(before) else (before,)


def _comment(place: Place, _: str) -> str:
    return (
        f"take {label(place)} apart: what it does before its first random draw in a "
        "map of its own, then .cache(), then the shuffle if one stands before, then "
        "the rest"
    )


PATCH = Patch(_comment)
