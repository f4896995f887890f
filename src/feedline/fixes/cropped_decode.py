"""Of a JPEG only the part that is cut out is decoded

libjpeg can decode a part of a picture and skip most of the rest. Where a map cuts a
part out of what it has just decoded, be it at random, only that part is decoded, with
some pixels more on every side that are cut off again: the pixels come out the same,
and are compared. A file that is broken outside of the part no longer stops the job,
which is why this is numeric and not exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from feedline.fixes.fix import Case, Edit, Grade, Kind, Proposal, find
from feedline.job.pipeline import Pipeline

KIND: Kind = "pipeline"
# How much is cut away is not known before it is tried.
_SHARE = 0.6


def propose(case: Case) -> Iterator[Proposal]:
    for stage in case.pipeline.find("map"):
        cost = case.cost(stage)
        ops = {op for function in stage.functions for op in function.ops}
        if cost is None or not ops >= {"DecodeJpeg", "Slice"} or stage.python:
            continue
        if not case.movable(stage) or stage.number < 0:
            continue
        less = replace(cost, ms_per_batch=cost.ms_per_batch * _SHARE)
        yield Proposal(
            Edit("cropped-decode", stage.number),
            "numeric",
            stage.where,
            tuple(less if each is cost else each for each in case.costs),
        )


def least(edit: Edit) -> Grade:  # noqa: ARG001
    return "numeric"


def apply(pipeline: Pipeline, edit: Edit) -> Pipeline:
    from feedline.job.rewrite.crop import cropped_decode

    stage = find(pipeline, edit.stage)
    args = {**stage.args, "func": cropped_decode(stage)}
    return pipeline.swap(stage, replace(stage, args=args))
