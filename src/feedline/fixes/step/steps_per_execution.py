"""Several steps go in one launch

`steps_per_execution`: Keras calls TensorFlow once for up to 64 steps, so what a call
costs is paid once for all of them. The arithmetic is that of single steps; the fix is
exact only where the weights come out bit for bit the same. Only training is launched
so: `evaluate`, `predict` and the validation of a fit run as before.

The number of steps in an epoch must be known beforehand. With
`fit(steps_per_epoch=...)` the launches divide it, because Keras would train past its
end. Callbacks hear of batches less often, so the fix is not proposed where one of yours
may act on batches.

In a loop of your own, nothing but the step may be in the loop (metrics may be updated):
no counter, no `print`, no `break`. Python then sees the last batch of each launch, and
always the last of the data, so all names hold what they would hold.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from feedline.causes.asking import batch_callbacks, starting, tried
from feedline.fixes import conditions
from feedline.fixes.args import Takes, number
from feedline.fixes.fix import CannotFix, Case, Edit, OwnLoop, Proposal
from feedline.fixes.patching import CannotEdit, Patch, Source
from feedline.fixes.place import Place
from feedline.fixes.target import Target, Undo, all_of
from feedline.job import marks
from feedline.job.job import Job
from feedline.job.loops.launches import guarded
from feedline.job.tfdata.pipeline import Pipeline, Stage

TAKES = Takes(args={"steps": number(1, 10_000)})
_MOST = 64
_LEAST = 4
_WORTH_IT = 0.2  # of the step: the least that starting it takes
_MADE_SHORT = {"compile-step", "row-sparse-embedding"}
_SHORT = 0.8  # of a step that one of these made short, a guess to be measured
_VARIABLES = {"ReadVariableOp", "AssignVariableOp", "AssignAddVariableOp"}
_LONGEST_MS = 500.0  # Ctrl-C, callbacks and the progress bar wait for a launch


def propose(case: Case) -> Iterator[Proposal]:
    job = case.job
    if job.kind == "loop":
        yield from _own_loop(case)
    if job.kind != "fit" or job.eager or job.steps_per_execution > 1 or job.strategy:
        return
    if batch_callbacks(job) or not conditions.holds(conditions.ahead, case.pipeline):
        return
    if any(edit.fix == "steps-per-execution" for edit in case.edits):
        return
    share = _share(case)
    step_ms = case.measured.step.ceiling.value * share
    steps = _steps(case, _most(case, share))
    if share < 1 < steps:
        yield Proposal(
            Edit("steps-per-execution", None, {"steps": steps}),
            "exact",
            job.where,
            step_ms=step_ms,
        )


def _own_loop(case: Case) -> Iterator[Proposal]:
    """Only a graph can be launched so."""
    job, before = case.job, {edit.fix for edit in case.edits}
    if not job.bare or job.strategy or "steps-per-execution" in before:
        return
    if not conditions.holds(check_own, case.pipeline):
        return
    eager = job.eager and "compile-step" not in before
    share = 1.0 if eager else _share(case)
    step_ms = case.measured.step.ceiling.value * share
    if share < 1:
        yield Proposal(
            Edit("steps-per-execution", None, {"steps": _most(case, share)}),
            "exact",
            job.where,
            step_ms=step_ms,
        )


def check_own(pipeline: Pipeline) -> None:
    """For a loop of the script's own."""
    conditions.ahead(pipeline)
    for stage in pipeline.stages():
        if _may_see_the_step(stage):
            raise CannotFix(f"{stage.label()} may see which step was made before it")


def _may_see_the_step(stage: Stage) -> bool:
    """A batch is read before the step ahead of it is made: may that show in it?"""
    return not stage.pure or any(
        _VARIABLES & f.ops.keys() or (f.stateful and not f.random)
        for f in stage.functions
    )


def check(target: Target) -> None:
    """A graph that makes one step in a launch, with nobody who listens to single steps
    and no data that may see them."""
    target.alone()
    if target.model.run_eagerly:
        raise CannotFix("the step is not a graph: it runs eagerly")
    if target.model.steps_per_execution != 1:
        raise CannotFix("the script launches several steps at once already")
    if heard := batch_callbacks(Job("fit", callbacks=target.callbacks)):
        raise CannotFix(f"{heard[0]} may act on every batch")
    if target.pipeline is not None:
        conditions.ahead(target.pipeline)


def install(target: Target, edit: Edit) -> Undo:
    check(target)
    steps = min(int(edit.args["steps"]), _MOST)
    if target.epochs is not None:
        steps = fitting(steps, target.epochs)
    if steps <= 1:
        return all_of([])
    target.around.append(partial(launched, target.model, steps))
    if target.epochs is None:
        return all_of([])
    return guarded(target.model, target.epochs, steps, target.replaced)


def fitting(most: int, epochs: Any) -> int:
    """So many steps in a launch of this fit; 1 where Keras does not know beforehand
    how many an epoch has."""
    if epochs.num_batches is None or epochs.steps_per_execution != 1:
        return 1
    return whole(most, epochs.steps_per_epoch)


def _steps(case: Case, most: int) -> int:
    """As even launches as there can be, where the data end the epoch. Where nobody
    knows beforehand how many steps that are, 1: Keras makes a step without data at
    the end of such an epoch, and several in a launch do not."""
    job, epoch = case.job, case.pipeline.cardinality
    if not job.restarts:
        return whole(most, job.steps_per_epoch)
    if epoch <= 0:
        return 1
    return math.ceil(epoch / math.ceil(epoch / most))


def whole(most: int, steps_per_epoch: int | None) -> int:
    """So many steps in a launch that an epoch of that many ends with one; 1 where
    that is not worth it. None: an epoch ends with the data, which ends a launch."""
    if steps_per_epoch is None:
        return most
    fitting = (n for n in range(_LEAST, most + 1) if steps_per_epoch % n == 0)
    return max(fitting, default=1)


def launched(
    model: Any, steps: int, train: Callable[[Any], Any]
) -> Callable[[Any], Any]:
    """Keras' train function, just made, as one that makes so many steps. Whenever it
    is traced it asks the model how many; all else that asks is told what the user
    said."""

    def launch(iterator: Any) -> Any:
        kept = model.steps_per_execution
        model.steps_per_execution = steps
        try:
            return train(iterator)
        finally:
            model.steps_per_execution = kept

    setattr(launch, marks.STEPS, steps)
    return launch


def _share(case: Case) -> float:
    """What is left of the step alone. Where the step waits for its input, nobody
    tried: then most of what does not depend on the batch is expected to go. Of a
    step that another fix made short nothing was measured."""
    measured = case.measured
    if any(edit.fix in _MADE_SHORT for edit in case.edits):
        return _SHORT
    found = tried(measured, "step:steps-per-execution")
    if found is not None:
        return found.after.value / max(found.before.value, 1e-9)
    part = starting(measured) / max(measured.step.ceiling.value, 1e-9)
    return 1 - 0.8 * min(part, 1.0) if part > _WORTH_IT else 1.0


def _most(case: Case, share: float) -> int:
    """Of the step as it now stands, which an edit may have made shorter."""
    now = case.measured.step.ceiling.value if case.step_ms is None else case.step_ms
    return max(_LEAST, min(_MOST, int(_LONGEST_MS / max(share * now, 1e-3))))


def own_loop(edit: Edit) -> OwnLoop:
    return OwnLoop(steps=int(edit.args["steps"]))


def _comment(place: Place, _: str) -> str:
    number = place.edit.args.get("steps")
    if place.op == "for":
        return (
            f"{number} steps per launch: this loop in a function with @tf.function, "
            "which is given the dataset"
        )
    return (
        f"{number} steps per launch: steps_per_execution={number} in the model's "
        "compile(...). Any number of steps given to fit, evaluate or predict must be a "
        "multiple of it"
    )


_COUNTED = re.compile(rb"\bvalidation_steps\s*=|\.(evaluate|predict)\([^)]*\bsteps\s*=")


def _edit(source: Source, place: Place) -> None:
    """In `compile` it holds for all that the model does, and Keras goes past a number
    of steps that it does not divide."""
    fits = len(re.findall(rb"\.fit\(", source.text))
    if _COUNTED.search(source.text) or (b"steps_per_epoch" in source.text and fits > 1):
        raise CannotEdit("steps are counted elsewhere, and must be a multiple of it")
    source.set_compile("steps_per_execution", str(int(place.edit.args["steps"])))


PATCH = Patch(_comment, _edit)
