"""Small things are shuffled instead of large ones

A shuffle draws positions, whatever elements are there. Moved before maps that give one
element for each, it makes the same order, but its buffer holds file names or compressed
bytes instead of decoded pictures. An epoch also starts sooner, because nothing has to
be decoded before the first element comes out. The same elements in the same order:
exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from feedline.fixes import conditions
from feedline.fixes.args import Takes
from feedline.fixes.fix import CannotFix, Case, Edit, Proposal
from feedline.fixes.patching import Patch, Source, label, move_before
from feedline.fixes.place import Place
from feedline.job.tfdata import ops
from feedline.job.tfdata.ops import Fact
from feedline.job.tfdata.pipeline import Pipeline, Stage

TAKES = Takes(stage=True)


def propose(case: Case) -> Iterator[Proposal]:
    start = case.measured.step.epoch_start
    for stage in case.pipeline.find(ops.SHUFFLE):
        first, edit = _fed_by(stage), Edit("shuffle-ids", stage.number)
        if not conditions.holds(check, case.pipeline, edit):
            continue
        if stage.number in case.used or not case.movable(first):
            continue
        cost = case.cost(stage)
        if start <= 0 or cost is None:
            continue
        # The epoch's start is part of the shuffle's price here.
        costs = case.with_cost(cost, ms_per_batch=0.0)
        yield Proposal(edit, "exact", stage.where, costs, note="epoch start")


def check(pipeline: Pipeline, edit: Edit) -> Stage:
    """A shuffle behind a map that only computes."""
    stage = conditions.stage_of(pipeline, edit, ops.SHUFFLE)
    first = _fed_by(stage)
    if first.op != ops.MAP:
        raise CannotFix(f"{stage.label()} does not follow a map")
    conditions.sure(first)
    return stage


def _fed_by(stage: Stage) -> Stage:
    """What makes the elements of a shuffle: a prefetch only hands them on."""
    (first,) = stage.inputs
    while ops.facts(first.op) & _PASSES:
        (first,) = first.inputs
    return first


def apply(pipeline: Pipeline, edit: Edit) -> Pipeline:
    from feedline.fixes.means.rewrite.passes import shuffle_first

    return shuffle_first(pipeline, check(pipeline, edit))


def _comment(place: Place, _: str) -> str:
    return f"put .{label(place)} before the map that feeds it"


def _edit(source: Source, place: Place) -> None:
    move_before(source, _may_pass, place.over)


def _may_pass(name: str) -> bool:
    return name == ops.MAP or bool(ops.facts(name) & _PASSES)


def _over(shuffle: Stage, edits: Sequence[Edit]) -> int:
    """The stages that a shuffle moves before: as `rewrite.passes.shuffle_first`. Other
    shuffles that move stand before the same maps when its turn comes."""
    count = last_map = 0
    stage = shuffle
    moved = {edit.stage for edit in edits if edit.fix == "shuffle-ids"}
    while len(stage.inputs) == 1:
        stage = stage.inputs[0]
        if stage.op == ops.MAP:
            clean = stage.functions and not any(
                f.python or f.random or f.stateful for f in stage.functions
            )
            if not clean or stage.args.get("deterministic") is False:
                break
            last_map = count + 1
        elif stage.op == ops.SHUFFLE and stage.number in moved:
            continue
        elif not ops.facts(stage.op) & _PASSES:
            break
        count += 1
    return max(1, last_map)


_PASSES = Fact.PASSES_ON | Fact.SAYS_ONLY
PATCH = Patch(_comment, _edit, over=_over)
