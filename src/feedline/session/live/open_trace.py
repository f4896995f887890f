"""One trace with open lengths for all shapes of a `tf.function`: may it be made, may it
be used, and is it the same as the script's own traces? Raises `CannotRun` where not."""

from __future__ import annotations

import types
from typing import Any

from feedline.fixes.means.own_step.relaxed import Kind
from feedline.job.loops.loop import CannotRun
from feedline.job.loops.snapshot import nbytes, variables_in
from feedline.job.script.functions import user_function
from feedline.job.source.dependencies import Dependency
from feedline.job.source.lines import is_library
from feedline.job.source.open_shapes import check_traces_unseen, dependencies_of_trace
from feedline.measure.machine import memory
from feedline.prove.live_shapes import Comparison, OpenShapes

_COPIES = 6  # of the variables that must fit in the free memory


def judged(function: Any, kind: Kind) -> tuple[Dependency, ...]:
    """What tracing it looks at, from its source."""
    python, owner = user_function(function)
    if not isinstance(python, types.FunctionType) or is_library(
        python.__code__.co_filename
    ):
        raise CannotRun("it is not a function of the script")
    check_traces_unseen(python)
    return dependencies_of_trace(python, owner, kind.objects)


def check_variables(loop: Any, variables: list[Any]) -> None:
    """Those that the trace changes."""
    if _COPIES * nbytes(variables) > memory()[1]:
        raise CannotRun("copies of its variables would not fit in memory")
    touched = {id(each) for each in variables}
    if any(id(each) in touched for each in _read_by_input(loop)):
        raise CannotRun("the input reads variables that it changes")


def _read_by_input(loop: Any) -> list[Any]:
    if loop.source is None:
        return []
    from feedline.job.loops.facts import pipeline_of

    pipeline = pipeline_of(loop)
    if pipeline is None:
        raise CannotRun("its input cannot be read as a pipeline")
    return variables_in(pipeline)


def compared(comparison: Comparison, seconds: float) -> OpenShapes:
    """With Grappler as it goes over the script's own traces; where that is not the
    same, without: known lengths let it do more."""
    found: dict[bool, OpenShapes] = {}
    for optimized in (True, False):
        comparison.relaxed.optimized = optimized
        found[optimized] = comparison.made(seconds)
        if found[optimized].equal or not found[optimized].repeats:
            return found[optimized]
    comparison.relaxed.optimized = True
    return found[True]


def not_allowed(found: OpenShapes) -> str:
    if not found.repeats:
        return (
            "the step does not give the same bits twice in TensorFlow, so it cannot be "
            "compared; it needs --allow numeric"
        )
    return f"the results differ by {found.largest:.1e}; it needs --allow numeric"
