"""What is thrown away is thrown away before the expensive work

A filter that looks only at components which the map before it passes on unchanged gives
the same answer before that map. The elements that remain, and their order, are the
same: exact.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.fixes import conditions
from feedline.fixes.args import Takes
from feedline.fixes.fix import CannotFix, Case, Edit, Proposal
from feedline.fixes.patching import Patch, Source, label, move_before
from feedline.fixes.place import Place
from feedline.job.tfdata import ops
from feedline.job.tfdata.pipeline import Pipeline, Stage

TAKES = Takes(stage=True)


def propose(case: Case) -> Iterator[Proposal]:
    for stage in case.pipeline.find(ops.FILTER):
        first, edit = stage.inputs[0], Edit("filter-first", stage.number)
        before, after = case.cost(first), case.cost(stage)
        if before is None or after is None or not case.movable(first):
            continue
        if not conditions.holds(check, case.pipeline, edit):
            continue
        kept = min(1.0, after.elements_per_batch / max(before.elements_per_batch, 1e-9))
        if kept > 0.98:
            continue
        costs = case.with_cost(
            before,
            ms_per_batch=before.ms_per_batch * kept,
            elements_per_batch=after.elements_per_batch,
        )
        yield Proposal(edit, "exact", stage.where, costs)


def check(pipeline: Pipeline, edit: Edit) -> Stage:
    """A filter behind a map, both of which only compute."""
    stage = conditions.stage_of(pipeline, edit, ops.FILTER)
    first = stage.inputs[0]
    if first.op != ops.MAP or "func" in first.args or "func" in stage.args:
        raise CannotFix(f"{stage.label()} does not follow a map as it was read")
    conditions.sure(stage)
    conditions.sure(first)
    return stage


def apply(pipeline: Pipeline, edit: Edit) -> Pipeline:
    from feedline.fixes.means.rewrite.passes import filter_first

    return filter_first(pipeline, check(pipeline, edit))


def _comment(place: Place, _: str) -> str:
    return (
        f"put .{label(place)} before the map that feeds it; it must look only at what "
        "that map passes on unchanged"
    )


def _edit(source: Source, _: Place) -> None:
    def may_pass(before: str) -> bool:
        return before == ops.MAP and source.may_stand_before()

    move_before(source, may_pass, most=1)


PATCH = Patch(_comment, _edit, whole_file=True)
