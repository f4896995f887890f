"""The step runs as a graph, not operation by operation

With `run_eagerly=True` (often left over from debugging), or in a custom loop whose step
has no `tf.function`, Python starts every operation. Compiled, the same operations run
as one graph. TensorFlow's optimizer of graphs (Grappler) is off for it, because merged
operations round differently. The fix is exact only where the weights come out bit for
bit the same, compared as the job runs; else it is numeric, as it is where the step
itself does not give the same bits twice.

In a fit, Keras' train step or yours is compiled; in a loop of your own, the function
that takes the gradients or, where the step is written straight into the loop, the lines
from `with tf.GradientTape()` to the last that trains. Only a proved plan changes such a
loop, while the script is loaded; your file stays as it is.

Everything that the step does must mean the same in a graph. It may use models,
optimizers, metrics, `tf`, and functions and layers of yours for which the same holds.
It may not print, keep anything in Python objects, read values back (`.numpy()`), catch
errors or draw by `tf.random`. If the script later changes what the step uses (a layer's
`trainable`, a number), it runs from Python again, and one line says so. What a fit
evaluates is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from feedline.causes.asking import launching, tried
from feedline.fixes.args import Takes
from feedline.fixes.fix import CannotFix, Case, Edit, OwnLoop, Proposal
from feedline.fixes.patching import CannotEdit, Patch, Source
from feedline.fixes.place import Place
from feedline.fixes.target import Target, Undo, all_of
from feedline.job.loops.loop import CannotRun

if TYPE_CHECKING:
    from feedline.job.source.dependencies import Dependency

TAKES = Takes()
# Of the time to start the operations. A guess before anything was measured: a graph
# takes microseconds for one where Python takes some twenty times as long.
_LEFT = 1 / 20


def propose(case: Case) -> Iterator[Proposal]:
    measured = tried(case.measured, "step:compiled")
    if not case.job.eager or any(edit.fix == "compile-step" for edit in case.edits):
        return
    if case.job.kind == "loop":
        yield from _own_step(case)
    if case.job.kind != "fit" or measured is None or measured.gain <= 0:
        return
    share = measured.after.value / max(measured.before.value, 1e-9)
    yield Proposal(
        Edit("compile-step"),
        "exact",
        case.job.where,
        step_ms=case.measured.step.ceiling.value * share,
    )


def _own_step(case: Case) -> Iterator[Proposal]:
    step = case.measured.step
    starting = launching(case.measured)
    if not step.curve:  # nobody asked for other batch sizes; it mostly is much
        starting = step.ceiling.value / 2
    if starting > 0:
        yield Proposal(
            Edit("compile-step"),
            "exact",
            case.job.step_where or case.job.where,
            step_ms=step.ceiling.value - starting * (1 - _LEFT),
        )


def check(target: Target) -> tuple[Dependency, ...]:
    """A step that runs eagerly and means the same as a graph; what it was judged by."""
    from feedline.job.source.graph_safe import dependencies_of_model

    if not target.model.run_eagerly:
        raise CannotFix("the step is a graph already")
    try:
        return dependencies_of_model(target.model)
    except CannotRun as reason:
        raise CannotFix(f"the step may differ as a graph: {reason}") from None


def install(target: Target, edit: Edit) -> Undo:  # noqa: ARG001
    """Of a fit the step alone: what is evaluated runs as it did."""
    held = check(target)
    target.for_training(run_eagerly=False)
    target.around.append(partial(_while_the_same, target, held))
    return all_of([])


def _while_the_same(
    target: Target, held: tuple[Dependency, ...], compiled: Callable[[Any], Any]
) -> Callable[[Any], Any]:
    """The graph until the script changes what it was made from (a callback that sets
    a layer's `trainable`); from then on operation by operation."""
    from feedline.fixes.means.own_step.graph_step import unoptimized

    model = target.model
    eager: Callable[[Any], Any] | None = None

    def step(iterator: Any) -> Any:
        nonlocal eager
        changed = next((each for each in held if not each.is_same()), None)
        if eager is None and changed is None:
            with unoptimized():
                return compiled(iterator)
        if eager is None and changed is not None:
            target.tell(
                f"the step runs eagerly again: the script has changed {changed.said}"
            )
            kept = model.train_function
            model.make_train_function(force=True)
            eager, model.train_function = model.train_function, kept
        return eager(iterator) if eager is not None else compiled(iterator)

    return step


def own_loop(_: Edit) -> OwnLoop:
    return OwnLoop(as_graph=True)


def _comment(place: Place, _: str) -> str:
    if place.op != "def":
        return "run_eagerly=False in the model's compile(...)"
    options = "(jit_compile=True)" if place.edit.args.get("fused") else ""
    return f"the step in its own function, with @tf.function{options} above it"


def _edit(source: Source, _: Place) -> None:
    if source.argument("run_eagerly") is not None:
        source.set_argument("run_eagerly", "False")
    elif not source.set_attribute("run_eagerly", "False"):
        raise CannotEdit("run_eagerly is not set in this file")


def _of_function(edit: Edit, edits: Sequence[Edit]) -> Edit:
    fused = any(each.fix == "jit-compile" for each in edits)
    return replace(edit, args={"fused": True}) if fused else edit


PATCH = Patch(_comment, _edit, of_function=_of_function)
