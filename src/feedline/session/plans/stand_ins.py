"""Which dataset is read in the place of which of the script's, under `feedline run`.

A tuned dataset may have shuffles of its own, and they go on from pass to pass as the
script's would have. So there is one for each dataset of the script's, however often it
is read, and so it is for every stage below it whose state moved into the copy: a
dataset that the script makes from any of them (`ds.take(3)`, `base.batch(64)`), before
or later, is read from what stands in for it. What two datasets of the script's share
without one being made from the other is not made again at all: `shared` says which
stages these are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from feedline import fixes
from feedline.errors import FeedlineError
from feedline.fixes.fix import CannotFix, Edit
from feedline.job import marks
from feedline.job.script.hooks import datasets
from feedline.job.tfdata import ops, owners
from feedline.job.tfdata.ops import OPS, Fact
from feedline.job.tfdata.pipeline import Pipeline, Stage
from feedline.job.tfdata.read import read
from feedline.job.tfdata.rebuild import rebuild

_MARK = marks.INSTEAD  # lives and goes with the script's own dataset


def instead_of(dataset: Any) -> Any | None:
    """What is read in its place, if anything is."""
    known = dataset.__dict__.get(_MARK)
    if known is None or known.looked < _Instead.made:
        if known is not None and known.dataset is not None:
            put(dataset, known.dataset, moved=known.moved)
        else:
            put(dataset, _derived(dataset))
    return getattr(dataset, _MARK).dataset


class _Instead:
    """`looked`: how many stand-ins there were when nothing was found. `moved`: a state
    has moved into it, so that what is made of the dataset must read it too. Where none
    has, that reads the dataset: it may have a state of its own by now."""

    made = 0

    def __init__(self, dataset: Any | None, *, moved: bool = True) -> None:
        self.dataset = dataset
        self.moved = moved
        self.looked = _Instead.made


def put(dataset: Any, instead: Any | None, *, moved: bool = True) -> None:
    if instead is not None:
        _Instead.made += 1
    setattr(dataset, _MARK, _Instead(instead, moved=moved))


def tuned(dataset: Any, edits: tuple[Edit, ...]) -> Any:
    """What is read in its place from now on."""
    known = instead_of(dataset)
    if known is None:
        before = read(dataset).numbered()
        after = fixes.apply(before, edits)
        for stage in owners.lost(before, after, owners.reachable(before)):
            raise CannotFix(
                f"the script can read {stage.label()} at {stage.where} in another way, "
                "and its state would have two owners"
            )
        _check_draws(before, after)
        parts: dict[int, Any] = {}
        known = rebuild(after, parts=parts)
        setattr(known, marks.TUNED, True)
        same = owners.same_at(before, after)
        made = {number: parts[id(stage)] for number, stage in same.items()}
        moved = {
            stage.number
            for stage in before.stages()
            if owners.keeps_state(stage)
            and made.get(stage.number) is not stage.handle.dataset
        }
        for stage in before.stages():
            if stage.number in made and _reads_any(stage, moved):
                put(stage.handle.dataset, made[stage.number])
        put(dataset, known, moved=bool(moved))
    return known


def _reads_any(stage: Stage, numbers: set[int]) -> bool:
    """Is it one of these stages, or does it read one?"""
    return any(each.number in numbers for each in Pipeline(stage).stages())


def _check_draws(before: Pipeline, after: Pipeline) -> None:
    """Draws that run ahead below a state, such as a shuffle's, could be seen: by who
    takes a part of it, again and again."""
    was = {id(stage) for stage in before.stages()}
    for stage in after.stages():
        if id(stage) in was or not owners.keeps_state(stage):
            continue
        if any(map(_draws_under_a_seed, map(Pipeline, stage.inputs))):
            raise CannotFix(
                f"{stage.label()} follows seeded random draws; the script could see "
                "that they run ahead"
            )


def may_go_back(dataset: Any) -> bool:
    """May the script's own dataset be read again after what stands in for it? Only if
    they share every stage that keeps a state."""
    instead = instead_of(dataset)
    if instead is None:
        return False
    shared = {id(stage.handle.dataset) for stage in read(instead).stages()}
    return all(
        id(stage.handle.dataset) in shared
        for stage in read(dataset).stages()
        if owners.has_state(stage)
    )


def go_back(dataset: Any) -> None:
    """From now on it is read itself."""
    put(dataset, None)


def _derived(dataset: Any) -> Any | None:
    """The same stages on top of the stand-ins of what it was made from."""
    if getattr(dataset, marks.TUNED, False):
        return None
    try:
        pipeline = read(dataset)
    except FeedlineError:
        return None
    found = list(_outermost(pipeline.root))
    for stage, instead in found:
        pipeline = pipeline.swap(stage, _in_place_of(stage, read(instead).root))
    if not found:
        return None
    made = rebuild(pipeline)
    setattr(made, marks.TUNED, True)
    return made


def _in_place_of(stage: Stage, instead: Stage) -> Stage:
    """Without a prefetch of ours behind a shuffle: TensorFlow makes one stage of a
    shuffle and the repeat right behind it, which draws otherwise than the two do."""
    below = instead
    while stage.op == ops.SHUFFLE and below.has(Fact.PASSES_ON):
        (below,) = below.inputs
    return below if below.op == ops.SHUFFLE else instead


def _outermost(
    stage: Stage, above: tuple[Stage, ...] = ()
) -> Iterator[tuple[Stage, Any]]:
    known = stage.handle.dataset.__dict__.get(_MARK)
    if known is not None and known.dataset is not None and known.moved:
        seen = _goes_on_early(above) and _draws_under_a_seed(read(known.dataset))
        if not seen or owners.keeps_state(stage):
            yield stage, known.dataset
            return
    for upstream in stage.inputs:
        yield from _outermost(upstream, (*above, stage))


def _goes_on_early(above: tuple[Stage, ...]) -> bool:
    """May a pass over what these stages read end early, and another follow in the same
    iterator? What was drawn ahead in the first would then be missing in the second."""
    repeats = (n for n, each in enumerate(above) if each.has(Fact.REPEATS))
    first = next(repeats, len(above))
    return any(not each.has(Fact.READS_TO_END) for each in above[first:])


def _draws_under_a_seed(pipeline: Pipeline) -> bool:
    return any(
        function.random and function.seeded
        for stage in pipeline.stages()
        for function in stage.functions
    )


def shared(pipeline: Pipeline) -> frozenset[int]:
    """Numbers of the stages that keep a state and that a dataset outside of this
    pipeline reads too, not by reading this one."""
    kept = {
        id(stage.handle.dataset): stage.number
        for stage in pipeline.stages()
        if stage.op in OPS and OPS[stage.op].has(Fact.STATE)
    }
    if not kept:
        return frozenset()
    root = pipeline.root.handle.dataset
    own = _behind(root)
    found: set[int] = set()
    for other in datasets():
        if id(other) not in own:
            behind = _behind(other)
            if id(root) not in behind:
                found |= kept.keys() & behind
    return frozenset(kept[each] for each in found)


def _behind(dataset: Any) -> set[int]:
    """What it reads, directly or not, and itself; told by identity."""
    return {id(each) for each in owners.chain(dataset)}
