"""Does a pipeline give the same in every pass? Judged from plain data, no TensorFlow.

A closed world: a stage gives the same only if its operation is one of those that are
known to, and so does every function in it. Whatever draws, prints, writes, counts,
reads a variable, or is not known, forbids a cache behind it. What stays the same only
as long as nobody changes it (files, the values that Python reads) is let through here;
`store/evidence.py` finds it and has it looked at again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from feedline.job.tfdata import endings, ops
from feedline.job.tfdata.ops import Fact
from feedline.job.tfdata.pipeline import Function, Pipeline, Stage

_READING = ("ReadFile", "RecordDataset", "TextLineDataset", "CSVDataset")
_VARIABLES = ("ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableV2")


def varies(stage: Stage) -> bool:
    """Does this stage give something else in every epoch?"""
    return stage.random and stage.args.get("reshuffle_each_iteration") is not False


def why_not_same(root: Stage) -> str:
    """Why two passes over what this stage gives may differ or are not what would be
    kept, empty where they are one and the same."""
    for stage in Pipeline(root).stages():
        if reason := _of_stage(stage):
            return f"{stage.label()} {reason}"
    if again := endings.repeats(root):
        return f"{again[0].label()} gives what stands before it several times"
    if endings.endless(root):
        return f"{root.label()} never ends"
    if any(each.dtype == "variant" for each in root.spec):
        return f"{root.label()} gives datasets"
    return ""


def same_for_the_same(stage: Stage) -> bool:
    """Is this a map that always makes the same of the same element, whatever order the
    elements come in?"""
    return (
        stage.op == ops.MAP
        and bool(stage.functions)
        and stage.args.get("deterministic") is not False
        and not why_not_same(replace(stage, inputs=()))
    )


def repeats_without_python(root: Stage) -> bool:
    """Does it give the same in every epoch, and without Python of the user's?"""
    return not why_not_same(root) and not any(e.python for e in Pipeline(root).stages())


def shuffle_before(stage: Stage) -> Stage | None:
    """The shuffle that this map could as well stand before: only maps between the
    two, of which each element is the same in every epoch; None where there is none."""
    above = stage
    while same_for_the_same(above):
        (above,) = above.inputs
    if above is stage or above.op != ops.SHUFFLE:
        return None
    return above if repeats_without_python(above.inputs[0]) else None


def is_same_stage(op: str) -> bool:
    """Is this operation, whatever its functions do, the same in every pass?"""
    return ops.has(op, Fact.SAME)


def _of_stage(stage: Stage) -> str:
    if varies(stage):
        return "is random"
    if not stage.rereadable:
        return "can be read only once"
    if stage.python and not stage.pure:
        return "runs Python that may keep a state"
    if not is_same_stage(stage.op):
        return "may give something else in every pass"
    if stage.op == ops.CACHE and stage.args.get("filename"):
        return "reads a cache of the script's own"
    return next(filter(None, map(_of_function, stage.functions)), "")


def _of_function(function: Function) -> str:
    if function.random:
        return "is random"
    if function.outside:
        return f"does something outside of the pipeline ({function.outside[0]})"
    if any(op in function.ops for op in _VARIABLES):
        return "reads a variable"
    return "reads what may change" if function.stateful else ""


def unordered(root: Stage, options: Mapping[str, Any]) -> bool:
    """May the order of the elements be another in every pass?"""
    stages = [*Pipeline(root).stages()]
    if options.get("deterministic") is False and any(
        _is_parallel(stage) for stage in stages
    ):
        return True
    return any(
        stage.args.get("deterministic") is False or bool(stage.args.get("sloppy"))
        for stage in stages
    )


def _is_parallel(stage: Stage) -> bool:
    return any(
        stage.args.get(name) is not None
        for name in ("num_parallel_calls", "num_parallel_reads")
    )


def reads_files(root: Stage) -> bool:
    """Is what it gives the same only as long as some files are?"""
    return any(
        stage.has(Fact.FILES)
        or any(part in op for f in stage.functions for op in f.ops for part in _READING)
        for stage in Pipeline(root).stages()
    )
