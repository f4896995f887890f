"""What is thrown away is thrown away before the expensive work

A filter that looks only at components which the map before it hands on untouched
gives the same answer before that map. The elements that remain, and their order,
are the same: exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from feedline.fixes.fix import Case, Edit, Kind, Proposal, find
from feedline.job.pipeline import Pipeline

KIND: Kind = "pipeline"


def propose(case: Case) -> Iterator[Proposal]:
    for stage in case.pipeline.find("filter"):
        first = stage.inputs[0]
        before, after = case.cost(first), case.cost(stage)
        if first.op != "map" or first.random or first.python or before is None:
            continue
        if after is None or not case.movable(first):
            continue
        kept = min(1.0, after.elements_per_batch / max(before.elements_per_batch, 1e-9))
        if kept > 0.98:
            continue
        less = replace(
            before,
            ms_per_batch=before.ms_per_batch * kept,
            elements_per_batch=after.elements_per_batch,
        )
        yield Proposal(
            Edit("filter-first", stage.number),
            "exact",
            stage.where,
            tuple(less if each is before else each for each in case.costs),
        )


def apply(pipeline: Pipeline, edit: Edit) -> Pipeline:
    from feedline.job.rewrite.passes import filter_first

    return filter_first(pipeline, find(pipeline, edit.stage))
