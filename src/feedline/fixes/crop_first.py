"""Colours are shifted after the crop, not before it

A crop throws most of a picture away. What a map does to every pixel by itself before
that (hue, saturation, a factor) gives the same numbers done afterwards, to fewer
pixels: the operations are the same, with the same draws, so it is exact. What looks at
other pixels, such as contrast at their mean, stays before the crop.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from feedline.fixes.fix import Case, Edit, Kind, Proposal, find
from feedline.job.pipeline import Pipeline

KIND: Kind = "pipeline"
_DEAR = {"AdjustHue", "AdjustSaturation"}
# How much is cut away is not known before it is tried.
_SHARE = 0.6


def propose(case: Case) -> Iterator[Proposal]:
    for stage in case.pipeline.find("map"):
        cost = case.cost(stage)
        ops = {op for function in stage.functions for op in function.ops}
        if cost is None or "Slice" not in ops or not ops & _DEAR or stage.python:
            continue
        if stage.handle is None or not case.movable(stage) or "func" in stage.args:
            continue
        less = replace(cost, ms_per_batch=cost.ms_per_batch * _SHARE)
        yield Proposal(
            Edit("crop-first", stage.number),
            "exact",
            stage.where,
            tuple(less if each is cost else each for each in case.costs),
        )


def apply(pipeline: Pipeline, edit: Edit) -> Pipeline:
    from feedline.job.rewrite.delay import delayed

    stage = find(pipeline, edit.stage)
    args = {**stage.args, "func": delayed(stage)}
    return pipeline.swap(stage, replace(stage, args=args))
