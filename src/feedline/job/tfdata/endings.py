"""Where a pass over a pipeline ends. Judged from plain data, no TensorFlow.

A zip ends with the shortest of its inputs. A side of it that is repeated for ever, as
`timeseries_dataset_from_array` of Keras has two, gives the same element beside every
other one: it does not make the zip endless, nor is the data gone through more than once
because of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.job.tfdata import ops
from feedline.job.tfdata.ops import Fact
from feedline.job.tfdata.pipeline import Pipeline, Stage


def endless(root: Stage) -> bool:
    """May a pass over what this stage gives have no end?"""
    return id(root) in _endless_in(root)


def repeats(root: Stage) -> list[Stage]:
    """The `repeat`s that all the data goes through, the last first. One behind a
    branch repeats only a part of what a pass gives."""
    return [stage for stage in _chain(root) if stage.has(Fact.REPEATS)]


def unbounded(root: Stage) -> list[Stage]:
    """The `repeat`s because of which a pass over `root` has no end."""
    without_end = _endless_in(root)
    found: dict[int, Stage] = {}
    waiting = [root] if id(root) in without_end else []
    while waiting:
        stage = waiting.pop()
        if stage.op == ops.REPEAT and _for_ever(stage.args.get("count")):
            found[id(stage)] = stage
        waiting += [each for each in stage.inputs if id(each) in without_end]
    return list(found.values())


def _endless_in(root: Stage) -> set[int]:
    found: set[int] = set()
    for stage in Pipeline(root).stages():  # inputs first
        sides = [id(each) in found for each in stage.inputs]
        if _begins_no_end(stage):
            found.add(id(stage))
        elif stage.has(Fact.ENDS_WITH_SHORTEST):
            if sides and all(sides):
                found.add(id(stage))
        elif any(sides) and not _counts_to_an_end(stage):
            found.add(id(stage))
    return found


def _begins_no_end(stage: Stage) -> bool:
    """Does it go on for ever, whatever feeds it?"""
    if stage.has(Fact.ENDLESS):
        return True
    if stage.has(Fact.REPEATS):
        return _for_ever(stage.args.get("count"))
    if "num_epochs" in stage.args:
        return _for_ever(stage.args["num_epochs"])
    # A dataset inside a function may be repeated for ever: nobody can tell.
    inside = (op for function in stage.functions for op in function.ops)
    return stage.has(Fact.INNER) and any("RepeatDataset" in op for op in inside)


def _counts_to_an_end(stage: Stage) -> bool:
    count = stage.args.get("count")
    return stage.op == ops.TAKE and isinstance(count, int) and count >= 0


def _for_ever(count: object) -> bool:
    return not isinstance(count, int) or count < 0


def _chain(root: Stage) -> Iterator[Stage]:
    """From `root` to the source or the first branch."""
    stage = root
    while len(stage.inputs) == 1:
        yield stage
        (stage,) = stage.inputs
    yield stage
