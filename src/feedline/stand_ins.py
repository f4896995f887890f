"""Which dataset is read in the place of which of the script's, under `feedline run`.

A tuned dataset may have shuffles of its own, and they go on from pass to pass as the
script's would have. So there is one for each dataset of the script's, however often it
is read, and a dataset that the script made from such a one (`ds.take(3)`) is read from
its stand-in. What two datasets of the script's share without one being made from the
other is not made again at all: `shared` says which stages these are.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from feedline.errors import FeedlineError
from feedline.fixes.fix import Edit
from feedline.job.datasets.table import OPS
from feedline.job.pipeline import Pipeline, Stage
from feedline.job.read import read
from feedline.job.rebuild import rebuild
from feedline.tuning import tuned_dataset

_MARK = "_feedline_instead"  # lives and goes with the script's own dataset


def instead_of(dataset: Any) -> Any | None:
    """What is read in its place, if anything is."""
    if _MARK not in dataset.__dict__:
        put(dataset, _derived(dataset))
    return getattr(dataset, _MARK)


def put(dataset: Any, instead: Any | None) -> None:
    setattr(dataset, _MARK, instead)


def tuned(dataset: Any, edits: tuple[Edit, ...]) -> Any:
    """What is read in its place from now on."""
    known = instead_of(dataset)
    if known is None:
        known = tuned_dataset(dataset, edits)
        put(dataset, known)
    return known


def _derived(dataset: Any) -> Any | None:
    """The same stages on top of the stand-ins of what it was made from."""
    if getattr(dataset, "_feedline_tuned", False):
        return None
    try:
        pipeline = read(dataset)
    except FeedlineError:
        return None
    found = list(_outermost(pipeline.root))
    for stage, instead in found:
        pipeline = pipeline.swap(stage, read(instead).root)
    if not found:
        return None
    made = rebuild(pipeline)
    made._feedline_tuned = True
    return made


def _outermost(stage: Stage) -> Iterator[tuple[Stage, Any]]:
    instead = getattr(stage.handle.dataset, _MARK, None)
    if instead is not None:
        yield stage, instead
        return
    for upstream in stage.inputs:
        yield from _outermost(upstream)


def shared(pipeline: Pipeline) -> frozenset[int]:
    """Numbers of the stages that keep a state and that a dataset outside of this
    pipeline reads too, not by reading this one."""
    kept = {
        id(stage.handle.dataset): stage.number
        for stage in pipeline.stages()
        if stage.op in OPS and OPS[stage.op].keeps_state
    }
    if not kept:
        return frozenset()
    root = pipeline.root.handle.dataset
    own = _behind(root)
    found: set[int] = set()
    for other in gc.get_objects():
        if issubclass(type(other), tf.data.Dataset) and id(other) not in own:
            behind = _behind(other)
            if id(root) not in behind:
                found |= kept.keys() & behind
    return frozenset(kept[each] for each in found)


def _behind(dataset: Any) -> set[int]:
    """What it reads, directly or not, and itself; told by identity."""
    seen: set[int] = set()
    left = [dataset]
    while left:
        one = left.pop()
        if id(one) not in seen:
            seen.add(id(one))
            left += one._inputs()
    return seen
