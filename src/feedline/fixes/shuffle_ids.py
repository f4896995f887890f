"""Small things are shuffled instead of large ones

A shuffle draws positions, whatever stands at them: moved before maps that give
one element for each, it makes the very same order, and its buffer holds file
names or compressed bytes instead of decoded pictures. It also starts an epoch
sooner, because nothing has to be decoded before the first element comes out.
The same elements in the same order: exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from feedline.fixes.fix import Case, Edit, Kind, Proposal, find
from feedline.job.pipeline import Pipeline

KIND: Kind = "pipeline"


def propose(case: Case) -> Iterator[Proposal]:
    start = case.measured.step.epoch_start
    for stage in case.pipeline.find("shuffle"):
        first = stage.inputs[0]
        if first.op != "map" or first.random or first.python:
            continue
        if stage.number in case.used or not case.movable(first):
            continue
        cost = case.cost(stage)
        if start <= 0 or cost is None:
            continue
        # The epoch's start is part of the shuffle's price here.
        yield Proposal(
            Edit("shuffle-ids", stage.number),
            "exact",
            stage.where,
            tuple(
                replace(each, ms_per_batch=0.0) if each is cost else each
                for each in case.costs
            ),
            note="epoch start",
        )


def apply(pipeline: Pipeline, edit: Edit) -> Pipeline:
    from feedline.job.rewrite.passes import shuffle_first

    return shuffle_first(pipeline, find(pipeline, edit.stage))
