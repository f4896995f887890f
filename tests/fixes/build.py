"""Cases written by hand for the fixes: the parts of `tests/causes/build.py`, with
the stages numbered as a cure numbers them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from feedline import fixes
from feedline.fixes.fix import Case, Edit, Proposal
from feedline.job.job import Layer
from feedline.job.tfdata.pipeline import Pipeline, Stage
from feedline.measure.measurement import TableCost
from tests.causes.build import BATCH, SLICES, Part, about, case, part


def looked_at(
    *parts: Part,
    edits: tuple[Edit, ...] = (),
    used: Iterable[int] = (),
    **more: Any,
) -> Case:
    """What a fix looks at. `more` goes to `tests.causes.build.case`."""
    made = case(*parts, **more)
    assert made.job.pipeline is not None
    pipeline = made.job.pipeline.numbered()
    job = replace(made.job, pipeline=pipeline)
    return Case(
        job,
        made.measured,
        pipeline,
        made.measured.stages,
        edits,
        frozenset(used),
    )


def of_function(made: Part, **facts: Any) -> Part:
    """The part with other facts about its function: `seeded`, `stateful`."""
    (function,) = made.stage.functions
    stage = replace(made.stage, functions=(replace(function, **facts),))
    return replace(made, stage=stage)


def proposed(name: str, looked: Case) -> list[Proposal]:
    return list(fixes.all()[name].propose(looked))


def one(name: str, looked: Case) -> Proposal:
    (proposal,) = proposed(name, looked)
    return proposal


def chain(pipeline: Pipeline) -> list[Stage]:
    return list(pipeline.stages())


def applied(looked: Case, proposal: Proposal) -> Pipeline:
    return fixes.apply(looked.pipeline, [proposal.edit])


def costs_by_index(proposal: Proposal) -> dict[int, Any]:
    assert proposal.costs is not None
    return {cost.index: cost for cost in proposal.costs}


class Epochs:
    """What Keras counts by."""

    def __init__(self, steps_per_epoch, num_batches):
        self.steps_per_execution = 1
        self.steps_per_epoch, self.num_batches = steps_per_epoch, num_batches


MAP = part("map", 50.0, name="load")


def files(op: str, **args: object) -> object:
    return part(op, 40.0, filenames=["a", "b", "c"], **args)


def names(*more, **facts):
    shuffle = part("shuffle", buffer_size=10, random=True)
    return looked_at(SLICES, shuffle, MAP, *more, BATCH, epochs=5, **facts)


LAUNCHED = {
    "what_if": {
        "step:as-is": about(10.0),
        "step:steps-per-execution": about(2.0),
        "step:compiled": about(2.5),
    }
}


TABLE = TableCost("table", 100_000, 64, 500, "SGD", 8.0, 0.5)


def looked(**more):
    return looked_at(SLICES, BATCH, **more)


OPEN_SHAPES = {"step:as-is": about(130.0), "step:open-shapes": about(26.0)}
LAYER = Layer("embedding", "Embedding", ((100_000, 64),))
