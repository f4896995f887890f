"""The map runs once per batch instead of once per element

The function moves behind the `batch` and works on whole batches, by TensorFlow's
vectoriser or, for operations that work on any shape, unchanged. Kept only where the
batches come out bit for bit the same on the job's own elements: exact.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from feedline.fixes import conditions
from feedline.fixes.args import Takes
from feedline.fixes.fix import CannotFix, Case, Edit, Proposal
from feedline.fixes.patching import (
    BY_HAND,
    CannotEdit,
    Patch,
    Source,
    label,
    run_parallel,
)
from feedline.fixes.place import Place
from feedline.job.tfdata import ops
from feedline.job.tfdata.ops import Fact
from feedline.job.tfdata.pipeline import Pipeline, Stage

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
    costs = case.with_cost(
        cost,
        ms_per_batch=at_once.value,
        ms_per_element=at_once.value,
        elements_per_batch=1.0,
    )
    yield Proposal(edit, "exact", stage.where, costs)


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


_PASSED = (
    *(name for name, op in ops.OPS.items() if op.has(Fact.PATCH_PASSES)),
    ops.BATCH,
)
_WHOLE = (
    "lambda *elements: {tf}.vectorized_map(lambda element: {f}(*element), elements)"
)


def _comment(place: Place, tune: str) -> str:
    function = label(place).removeprefix(f"{place.op}(").removesuffix(")")
    return (
        f"run {label(place)} once per batch: put .batch(...) before "
        f".map({function}, num_parallel_calls={tune}), once {function} works on a "
        "whole batch"
    )


def _edit(source: Source, place: Place) -> None:
    """TensorFlow's own vectoriser is right for any function of one element."""
    tensorflow, function = source.tensorflow_module(), source.argument("map_func")
    if tensorflow is None or function is None:
        raise CannotEdit(BY_HAND)
    if re.search(r"\belements?\b", function) or "\n" in function:
        raise CannotEdit(BY_HAND)
    if not function.isidentifier():
        function = f"({function})"
    source.set_argument("map_func", _WHOLE.format(tf=tensorflow, f=function))
    passed = source.passed_by(_PASSED)
    if not any(name == ops.BATCH for name in passed):  # stops at the first
        raise CannotEdit("no batch follows it in the same chain")
    run_parallel(source, place)


PATCH = Patch(_comment, _edit)
