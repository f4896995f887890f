"""Batches are put together on several cores

`batch(..., num_parallel_calls=tf.data.AUTOTUNE)`: copying the elements of one
batch goes on beside the next. The same batches in the same order: exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from feedline.fixes.fix import Case, Edit, Kind, Proposal, find
from feedline.job.pipeline import Pipeline

KIND: Kind = "pipeline"
AUTOTUNE = -1


def propose(case: Case) -> Iterator[Proposal]:
    for stage in case.pipeline.find("batch"):
        cost = case.cost(stage)
        serial = stage.args.get("num_parallel_calls") in (None, 0, 1)
        if cost is None or not serial or cost.asynchronous or not case.movable(stage):
            continue
        wide = replace(cost, asynchronous=True, parallelism=case.measured.machine.cores)
        yield Proposal(
            Edit("parallel-batch", stage.number),
            "exact",
            stage.where,
            tuple(wide if each is cost else each for each in case.costs),
        )


def apply(pipeline: Pipeline, edit: Edit) -> Pipeline:
    stage = find(pipeline, edit.stage)
    args = {**stage.args, "num_parallel_calls": AUTOTUNE}
    return pipeline.swap(stage, replace(stage, args=args))
