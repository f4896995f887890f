"""A slow element no longer holds up those behind it

`deterministic = False`: parallel stages hand on what is ready first. The order
inside an epoch changes and differs from run to run: reordered. Left alone where a
later stage would make other elements in another order (a seeded draw, `take`,
`enumerate`, `padded_batch`, a remainder that is dropped).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from feedline.causes.look import tried
from feedline.fixes import conditions
from feedline.fixes.args import Takes
from feedline.fixes.fix import CannotFix, Case, Edit, Grade, Kind, Proposal
from feedline.fixes.order import let_go
from feedline.job.tfdata import ops
from feedline.job.tfdata.pipeline import Pipeline, Stage
from feedline.measure.measurement import StageCost

KIND: Kind = "pipeline"
TAKES = Takes()


def propose(case: Case) -> Iterator[Proposal]:
    measured = tried(case.measured, "input:unordered")
    if measured is None or measured.gain <= 0:
        return
    if not conditions.holds(check, case.pipeline):
        return
    parallel = check(case.pipeline)
    if not all(case.movable(stage) for stage in parallel):
        return
    share = measured.after.value / max(measured.before.value, 1e-9)
    numbers = {stage.number for stage in parallel}
    yield Proposal(
        Edit("unordered"),
        "reordered",
        parallel[0].where,
        tuple(_faster(cost, numbers, share) for cost in case.costs),
    )


def least(edit: Edit) -> Grade:  # noqa: ARG001
    return "reordered"


def check(pipeline: Pipeline) -> list[Stage]:
    """The stages that would hand on in any order; another order must do no more."""
    parallel = [stage for stage in pipeline.stages() if _ordered(stage)]
    if not parallel:
        raise CannotFix("no stage runs in parallel and keeps the order")
    for stage in _freed(pipeline):
        let_go(pipeline, stage)
    return parallel


def apply(pipeline: Pipeline, edit: Edit) -> Pipeline:  # noqa: ARG001
    check(pipeline)
    while insisting := [s for s in pipeline.stages() if _insists(s)]:
        stage = insisting[0]
        args = {**stage.args, "deterministic": False}
        pipeline = pipeline.swap(stage, replace(stage, args=args))
    return replace(pipeline, options={**pipeline.options, "deterministic": False})


def _freed(pipeline: Pipeline) -> list[Stage]:
    """What may hand on in any order: TensorFlow makes plain maps parallel too."""
    return [s for s in pipeline.stages() if s.op == ops.MAP or _ordered(s)]


def _ordered(stage: Stage) -> bool:
    parallel = stage.args.get("num_parallel_calls") not in (None, 0, 1)
    return parallel and stage.args.get("deterministic") is not False


def _insists(stage: Stage) -> bool:
    return _ordered(stage) and bool(stage.args.get("deterministic"))


def _faster(cost: StageCost, numbers: set[int], share: float) -> StageCost:
    if cost.index not in numbers:
        return cost
    return replace(cost, ms_per_batch=cost.ms_per_batch * share)
