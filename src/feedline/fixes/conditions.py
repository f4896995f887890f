"""What several fixes ask of a pipeline before they change it, in `propose` and again
in `apply`: a plan may be older than the pipeline that it is applied to.

A closed world: a function may be moved, run in parallel or run ahead of the step only
if all that it does is known and none of it can be seen from outside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from feedline.fixes.fix import CannotFix, Edit, find
from feedline.job.tfdata import ops
from feedline.job.tfdata.pipeline import Function, Pipeline, Stage

SERIAL = (None, 0, 1)
_VARIABLES = {"ReadVariableOp", "ResourceGather"}
_GENERATOR = ("StatelessRandom", "StatelessTruncated", "Rng", "StatefulUniform")


def holds(check: Callable[..., Any], *args: Any) -> bool:
    """Does a check go through that raises `CannotFix` where it does not?"""
    try:
        check(*args)
    except CannotFix:
        return False
    return True


def stage_of(pipeline: Pipeline, edit: Edit, *wanted: str) -> Stage:
    """The stage that an edit is about, which must be one of these."""
    stage = find(pipeline, edit.stage)
    if stage.op not in wanted:
        kinds = " or ".join(wanted)
        raise CannotFix(f"stage {edit.stage} is {stage.label()}, no {kinds}")
    return stage


def serial(stage: Stage) -> None:
    if stage.args.get("num_parallel_calls") not in SERIAL:
        raise CannotFix(f"{stage.label()} runs in parallel already")
    if stage.args.get("synchronous"):
        raise CannotFix(f"{stage.label()} is set to be synchronous")


def keeps_order(pipeline: Pipeline) -> None:
    """A stage that is made parallel hands on in its order unless told otherwise."""
    if pipeline.options.get("deterministic") is False:
        raise CannotFix("the options let parallel stages deliver in any order")


def repeats_draw_alike(before: Pipeline, after: Pipeline) -> None:
    """TensorFlow makes one stage of a shuffle and a repeat that stands right behind it,
    which takes its seeds otherwise than the two do: from the second pass on the order
    is another. Whether they touch may not change."""
    if repeated_shuffles(before) != repeated_shuffles(after):
        raise CannotFix(
            "a shuffle and the repeat behind it draw otherwise when a stage stands "
            "between them"
        )


def repeated_shuffles(pipeline: Pipeline) -> list[int]:
    """Numbers of the shuffles that a repeat stands right behind."""
    return sorted(
        stage.inputs[0].number
        for stage in pipeline.stages()
        if stage.op == ops.REPEAT and stage.inputs[0].op == ops.SHUFFLE
    )


def alone(stage: Stage) -> None:
    """What its functions do concerns nobody but the elements: they may be run
    elsewhere, several at once or not at all for an element that nobody reads."""
    for function in stage.functions:
        if reason := _seen_outside(function):
            raise CannotFix(f"{stage.label()} {reason}")


def ahead(pipeline: Pipeline, stage: Stage | None = None) -> None:
    """What feeds this stage, and the stage itself, may run further ahead of the step
    than it does: nobody can tell when it ran."""
    for each in Pipeline(stage or pipeline.root).stages():
        alone(each)
        if each.python and not _may_run_early(each):
            raise CannotFix(
                f"{each.label()} runs Python that may keep or see a state, which would "
                "run ahead of the step"
            )


def sure(stage: Stage) -> None:
    """It gives the same for the same element, and runs no Python."""
    if not stage.functions:
        raise CannotFix(f"the function of {stage.label()} is not known")
    alone(stage)
    if stage.python:
        raise CannotFix(f"{stage.label()} runs Python")
    if stage.random:
        raise CannotFix(f"{stage.label()} draws random numbers")


def _seen_outside(function: Function) -> str | None:
    if function.outside:
        return f"does more than compute ({', '.join(function.outside)})"
    if function.reads or (function.random and _reads_another(function)):
        return "reads a variable or a table that may change"
    if function.stateful and not function.random:
        return "reads or holds a state"
    return None


def _reads_another(function: Function) -> bool:
    """Does it read a variable, and not that of a generator from which it draws?"""
    generated = any(op.startswith(_GENERATOR) for op in function.ops)
    return bool(_VARIABLES & function.ops.keys()) and not generated


def _may_run_early(stage: Stage) -> bool:
    if stage.op == ops.FROM_GENERATOR:
        return stage.rereadable
    return stage.pure
