"""Who owns the state of a stage: a shuffle's place in its seeds, a filled cache.

When a pipeline is made anew with edits, a stage that keeps a state exists twice. From
then on the copy owns the state, and whatever the script reads through the old stage,
now or later, is to be read through the copy. That is right only where the copy gives
the same elements at that very place (`same_at`); where it does not, nobody but this
pipeline may be able to reach the old stage (`reachable`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from feedline.job.private import tensorflow as tf_private
from feedline.job.tfdata import ops, recognised
from feedline.job.tfdata.holders import held_by_others
from feedline.job.tfdata.ops import OPS, Fact
from feedline.job.tfdata.pipeline import Pipeline, Stage

# Arguments that say how fast.
_HOW_FAST = {"num_parallel_calls"}


def keeps_state(stage: Stage) -> bool:
    return stage.op not in OPS or stage.has(Fact.STATE)


def has_state(stage: Stage) -> bool:
    """Does it keep a state, or anything that it reads?"""
    return keeps_state(stage) or any(map(has_state, stage.inputs))


def same_at(before: Pipeline, after: Pipeline) -> dict[int, Stage]:
    """The stages of the edited pipeline that give, by their structure, the very
    elements that the stage of the same number gave."""
    was = {stage.number: stage for stage in before.stages()}
    found: dict[int, Stage] = {}
    for stage in after.stages():
        old = was.get(stage.number)
        if old is not None and stage.number not in found and _same(old, stage):
            found[stage.number] = stage
    return found


def _same(old: Stage, new: Stage) -> bool:
    while new.number < 0 and _passes_on(new):
        new = new.inputs[0]
    if old is new:
        return True
    if (old.number, old.op, len(old.inputs)) != (new.number, new.op, len(new.inputs)):
        return False
    if old.args is not new.args and not _same_arguments(old, new):
        return False
    pairs = zip(old.inputs, new.inputs, strict=True)
    return all(_same(*pair) for pair in pairs)


def _passes_on(stage: Stage) -> bool:
    return stage.has(Fact.PASSES_ON) or stage.op == ops.CACHE


def _same_arguments(old: Stage, new: Stage) -> bool:
    """But for those that only say how fast."""
    if new.args.get("deterministic") is False:
        return False
    apart = {*_HOW_FAST, "deterministic"}
    was, now = (
        {name: value for name, value in each.args.items() if name not in apart}
        for each in (old, new)
    )
    try:
        return bool(was == now)
    except (TypeError, ValueError):  # arrays: nobody can tell by a glance
        return False


def lost(
    before: Pipeline, after: Pipeline, reached: frozenset[int]
) -> tuple[Stage, ...]:
    """The stages that others may reach and whose state would have two owners."""
    kept = same_at(before, after)
    return tuple(
        stage
        for stage in before.stages()
        if stage.number in reached and stage.number not in kept
    )


def reachable(pipeline: Pipeline) -> frozenset[int]:
    """Numbers of the stages with a state that the script can read in another way than
    through this pipeline: anything else holds them, a variable or a dataset."""
    stages = [
        stage
        for stage in pipeline.stages()
        if stage is not pipeline.root and has_state(stage)
    ]
    outside = held_by_others(
        [stage.handle.dataset for stage in stages],
        by=[
            *(each.__dict__ for each in chain(pipeline.root.handle.dataset)),
            *(each.__dict__ for each in recognised.alive()),
        ],
    )
    pairs = zip(stages, outside, strict=True)
    return frozenset(stage.number for stage, held in pairs if held)


def chain(dataset: Any) -> Iterator[Any]:
    """A dataset and all that it reads, each once."""
    waiting, seen = [dataset], set()
    while waiting:
        one = waiting.pop()
        if id(one) not in seen:
            seen.add(id(one))
            waiting += tf_private.inputs(one)()
            yield one
