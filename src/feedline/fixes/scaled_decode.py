"""A JPEG that is made smaller anyway is decoded small

libjpeg can decode a picture at a half, a quarter or an eighth of its size for a
fraction of the work. Where a resize to a smaller size follows, that is used, and
the resize does the rest. The pixels differ a little: numeric.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from feedline.fixes.fix import Case, Edit, Grade, Kind, Proposal, find
from feedline.job.pipeline import Pipeline

KIND: Kind = "pipeline"
# A half-size decode of a photograph was measured at about that part of the work.
_SHARE = 0.5


def propose(case: Case) -> Iterator[Proposal]:
    for stage in case.pipeline.find("map"):
        cost = case.cost(stage)
        ops = {op for function in stage.functions for op in function.ops}
        resizes = any(op.startswith("Resize") for op in ops)
        if cost is None or "DecodeJpeg" not in ops or not resizes:
            continue
        if not case.movable(stage) or stage.number < 0:
            continue
        less = replace(cost, ms_per_batch=cost.ms_per_batch * _SHARE)
        yield Proposal(
            Edit("scaled-decode", stage.number),
            "numeric",
            stage.where,
            tuple(less if each is cost else each for each in case.costs),
        )


def least(edit: Edit) -> Grade:  # noqa: ARG001
    return "numeric"


def apply(pipeline: Pipeline, edit: Edit) -> Pipeline:
    from feedline.job.rewrite.jpeg import scaled_decode

    stage = find(pipeline, edit.stage)
    args = {**stage.args, "func": scaled_decode(stage)}
    return pipeline.swap(stage, replace(stage, args=args))
