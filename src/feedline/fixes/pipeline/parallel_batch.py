"""Assemble batches on several cores

`batch(..., num_parallel_calls=tf.data.AUTOTUNE)`: the elements of several
batches are copied at the same time. The same batches in the same order: exact.
"""

from __future__ import annotations

from collections.abc import Iterator

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
        cores = case.measured.machine.cores
        costs = case.with_cost(cost, asynchronous=True, parallelism=cores)
        yield Proposal(edit, "exact", stage.where, costs)


def check(pipeline: Pipeline, edit: Edit) -> Stage:
    """A batch that is put together on one core, of what may be read ahead."""
    stage = conditions.stage_of(pipeline, edit, ops.BATCH)
    conditions.serial(stage)
    conditions.keeps_order(pipeline)
    conditions.ahead(pipeline, stage)
    return stage


def apply(pipeline: Pipeline, edit: Edit) -> Pipeline:
    stage = check(pipeline, edit)
    return pipeline.swap(stage, stage.given(num_parallel_calls=AUTOTUNE))


PATCH = Patch(give_threads, run_parallel)
