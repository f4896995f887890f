"""The map runs once per batch instead of once per element

The function moves behind the `batch` and works on whole batches, by TensorFlow's
own vectoriser or, for operations that work on any shape, as it is. Kept only
where the batches come out bit for bit the same on the job's own elements: exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from feedline.fixes.fix import Case, Edit, Kind, Proposal, find
from feedline.job.pipeline import Pipeline

KIND: Kind = "pipeline"


def propose(case: Case) -> Iterator[Proposal]:
    at_once = case.measured.what_if.get("input:vectorized")
    if at_once is None:
        return
    maps = [
        (cost, stage)
        for stage in case.pipeline.find("map")
        if (cost := case.cost(stage)) is not None and cost.elements_per_batch > 1
    ]
    if not maps:
        return
    # The one that was tried: see `measure/examine.py`.
    cost, stage = max(maps, key=lambda pair: pair[0].ms_per_batch)
    if stage.python or stage.random or not case.movable(stage):
        return
    whole = replace(
        cost,
        ms_per_batch=at_once.value,
        ms_per_element=at_once.value,
        elements_per_batch=1.0,
    )
    yield Proposal(
        Edit("vectorize-map", stage.number),
        "exact",
        stage.where,
        tuple(whole if each is cost else each for each in case.costs),
    )


def apply(pipeline: Pipeline, edit: Edit) -> Pipeline:
    from feedline.job.rewrite.vectorize import vectorize_pipeline

    return vectorize_pipeline(pipeline, find(pipeline, edit.stage))
