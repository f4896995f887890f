"""Assemble batches on several cores

`batch(..., num_parallel_calls=tf.data.AUTOTUNE)`: the elements of several
batches are copied at the same time. The same batches in the same order: exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from feedline.fixes import conditions
from feedline.fixes.args import Takes
from feedline.fixes.fix import Case, Edit, Proposal
from feedline.fixes.patching import Patch, give_threads, run_parallel
from feedline.job.tfdata import ops
from feedline.job.tfdata.pipeline import Pipeline, Stage

TAKES = Takes(stage=True)
AUTOTUNE = -1


def propose(case: Case) -> Iterator[Proposal]:
    for stage in case.pipeline.find(ops.BATCH):
        cost = case.cost(stage)
        edit = Edit("parallel-batch", stage.number)
        if cost is None or cost.asynchronous or not case.movable(stage):
            continue
        if not conditions.holds(check, case.pipeline, edit):
            continue
        wide = replace(cost, asynchronous=True, parallelism=case.measured.machine.cores)
        yield Proposal(
            edit,
            "exact",
            stage.where,
            tuple(wide if each is cost else each for each in case.costs),
        )


def check(pipeline: Pipeline, edit: Edit) -> Stage:
    """A batch that is put together on one core, of what may be read ahead."""
    stage = conditions.stage_of(pipeline, edit, ops.BATCH)
    conditions.serial(stage)
    conditions.keeps_order(pipeline)
    conditions.ahead(pipeline, stage)
    return stage


def apply(pipeline: Pipeline, edit: Edit) -> Pipeline:
    stage = check(pipeline, edit)
    args = {**stage.args, "num_parallel_calls": AUTOTUNE}
    return pipeline.swap(stage, replace(stage, args=args))


PATCH = Patch(give_threads, run_parallel)
