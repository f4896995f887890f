"""A slow element no longer holds up those behind it

`deterministic = False`: parallel stages deliver what is ready first. The order inside
an epoch changes and differs from run to run: reordered. Not used where a later stage
would turn another order into other elements (a seeded draw, `take`, `enumerate`,
`padded_batch`, a remainder that is dropped).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from feedline.causes.asking import tried
from feedline.fixes import conditions
from feedline.fixes.args import Takes
from feedline.fixes.fix import CannotFix, Case, Edit, Grade, Order, Proposal
from feedline.fixes.order import let_go
from feedline.fixes.patching import BY_HAND, CannotEdit, Patch, Source, label
from feedline.fixes.place import Place
from feedline.job.tfdata import ops
from feedline.job.tfdata.pipeline import Pipeline, Stage
from feedline.measure.measurement import StageCost

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
        pipeline = pipeline.swap(stage, stage.given(deterministic=False))
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


def compared(_: Edit) -> Order:
    return "any"


def _comment(place: Place, _: str) -> str:
    return (
        f"{label(place)} may deliver what is ready first: deterministic=False, "
        "or options.deterministic = False and .with_options(options)"
    )


def _edit(source: Source, _: Place) -> None:
    if not source.takes("deterministic"):
        raise CannotEdit(BY_HAND)
    if source.argument("num_parallel_calls") is None:
        raise CannotEdit("it has no argument that makes it parallel")
    source.set_argument("deterministic", "False")


def _stages(pipeline: Pipeline, edits: Sequence[Edit]) -> list[Stage]:
    """Those that run in parallel and keep the order, once the other edits are made."""
    made = {
        edit.stage
        for edit in edits
        if edit.fix in _MAKE_PARALLEL and not edit.args.get("split")
    }
    return [
        stage
        for stage in pipeline.stages()
        if stage.args.get("deterministic") is not False
        and (
            stage.number in made
            or any(stage.args.get(n) not in conditions.SERIAL for n in _PARALLEL)
        )
    ]


_MAKE_PARALLEL = ("parallel-map", "parallel-batch", "interleave")
_PARALLEL = ("num_parallel_calls", "num_parallel_reads")
PATCH = Patch(_comment, _edit, stages=_stages)
