"""Who owns the state of a stage: a shuffle's place in its seeds, a filled cache.

When a pipeline is made anew with edits, a stage that keeps a state exists twice. From
then on the copy owns the state, and whatever the script reads through the old stage,
now or later, is to be read through the copy. That is right only where the copy gives
the same elements at that very place (`same_at`); where it does not, nobody but this
pipeline may be able to reach the old stage (`reachable`).
"""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Iterator
from typing import Any

from feedline.job.tfdata import ops
from feedline.job.tfdata.ops import OPS, Fact
from feedline.job.tfdata.pipeline import Pipeline, Stage

# Arguments that say how fast.
_HOW_FAST = {"num_parallel_calls"}
_DEPTH = 4


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
    through this pipeline: a variable holds them, or a dataset outside of it."""
    stages = {id(stage.handle.dataset): stage for stage in pipeline.stages()}
    chain = set(_chain(pipeline.root.handle.dataset))
    named = _in_frames()
    return frozenset(
        stage.number
        for identity, stage in stages.items()
        if has_state(stage)
        and stage is not pipeline.root
        and (identity in named or _is_held(stage.handle.dataset, chain, _DEPTH))
    )


def _in_frames() -> set[int]:
    """What the variables of running functions hold: the collector does not see them."""
    found: set[int] = set()
    for frame in sys._current_frames().values():
        inside: types.FrameType | None = frame
        while inside is not None:
            if not _is_our_code(inside.f_code):
                found.update(map(id, inside.f_locals.values()))
            inside = inside.f_back
    return found


def _chain(dataset: Any) -> Iterator[int]:
    """The identity of a dataset, of all that it reads, and of what they keep."""
    waiting, seen = [dataset], set()
    while waiting:
        one = waiting.pop()
        if id(one) not in seen:
            seen.add(id(one))
            waiting += one._inputs()
            yield id(one)
            yield id(vars(one))


def _is_held(value: Any, passed: set[int], depth: int) -> bool:
    """By anything but what was `passed` on the way, this chain, and ourselves?"""
    holders = gc.get_referrers(value)
    passed = {*passed, id(holders)}
    return any(_holds(each, passed, depth) for each in holders)


def _holds(holder: Any, passed: set[int], depth: int) -> bool:
    if id(holder) in passed or _is_ours(holder):
        return False
    if isinstance(holder, types.FrameType):
        return not _is_our_code(holder.f_code)
    if isinstance(holder, dict) and "__name__" in holder:
        return True  # a module's names
    if isinstance(holder, list | tuple | dict | types.CellType) and depth:
        # Of a container that nobody is seen to hold, a running function does.
        known = [each for each in gc.get_referrers(holder) if id(each) not in passed]
        return not known or _is_held(holder, passed, depth - 1)
    return True


def _is_ours(holder: Any) -> bool:
    code = getattr(holder, "gi_code", None) or getattr(holder, "__code__", None)
    if isinstance(code, types.CodeType):
        return _is_our_code(code)
    return type(holder).__module__.partition(".")[0] == "feedline"


def _is_our_code(code: Any) -> bool:
    from feedline.job.source.lines import is_ours

    return is_ours(code.co_filename)
