"""The map runs once per batch instead of once per element

The function moves behind the `batch` and works on whole batches, by TensorFlow's
own vectoriser or, for operations that work on any shape, as it is. Kept only
where the batches come out bit for bit the same on the job's own elements: exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from feedline.fixes import conditions
from feedline.fixes.args import Takes
from feedline.fixes.fix import CannotFix, Case, Edit, Kind, Proposal
from feedline.job.tfdata import ops
from feedline.job.tfdata.pipeline import Pipeline, Stage

KIND: Kind = "pipeline"
TAKES = Takes(stage=True)


def propose(case: Case) -> Iterator[Proposal]:
    at_once = case.measured.what_if.get("input:vectorized")
    if at_once is None:
        return
    maps = [
        (cost, stage)
        for stage in case.pipeline.find(ops.MAP)
        if (cost := case.cost(stage)) is not None and cost.elements_per_batch > 1
    ]
    if not maps:
        return
    # The one that was tried: see `measure/examine.py`.
    cost, stage = max(maps, key=lambda pair: pair[0].ms_per_batch)
    edit = Edit("vectorize-map", stage.number)
    if not conditions.holds(check, case.pipeline, edit) or not case.movable(stage):
        return
    whole = replace(
        cost,
        ms_per_batch=at_once.value,
        ms_per_element=at_once.value,
        elements_per_batch=1.0,
    )
    yield Proposal(
        edit,
        "exact",
        stage.where,
        tuple(whole if each is cost else each for each in case.costs),
    )


def check(pipeline: Pipeline, edit: Edit) -> Stage:
    """A map, and maps between it and the batch, that only compute. They run in
    parallel afterwards, so what feeds them must allow that."""
    stage = conditions.stage_of(pipeline, edit, ops.MAP)
    if "func" in stage.args:
        raise CannotFix(f"{stage.label()} was given another function already")
    conditions.ahead(pipeline, stage)
    conditions.sure(stage)
    for later in pipeline.after(stage):
        if later.op == ops.BATCH:
            return stage
        if later.functions:
            conditions.sure(later)
    raise CannotFix(f"no batch follows {stage.label()}")


def apply(pipeline: Pipeline, edit: Edit) -> Pipeline:
    from feedline.fixes.means.rewrite.vectorize import vectorize_pipeline

    return vectorize_pipeline(pipeline, check(pipeline, edit))
