"""Several steps go in one launch

`steps_per_execution`: Keras calls TensorFlow once for many steps, so what a call
costs is paid once for all of them. The arithmetic is that of single steps; kept
as exact only where the weights come out bit for bit the same.

Callbacks hear of batches less often. Where one of the user's callbacks may act on
batches the fix is not proposed.

A loop of the script's own is given several steps in one launch where nothing but the
step stands in it: no counter, no `print`, no `break`. Python then sees the last batch
of each launch, and always that of the data, so that all names hold what they would
hold.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes.look import batch_callbacks, starting, tried
from feedline.fixes.fix import Case, Edit, Kind, Proposal
from feedline.fixes.target import Target, Undo, all_of
from feedline.job.job import Job
from feedline.job.pipeline import Stage
from feedline.measure.measurement import Measurement

KIND: Kind = "step"
_MOST = 64
_LEAST = 4
_DEFAULT = 16
_WORTH_IT = 0.2  # of the step: the least that starting it takes
_COMPILED = 0.8  # of a step that was made a graph, a guess to be measured
_VARIABLES = {"ReadVariableOp", "AssignVariableOp", "AssignAddVariableOp"}
_LONGEST_MS = 500.0  # Ctrl-C, callbacks and the progress bar wait for a launch


def propose(case: Case) -> Iterator[Proposal]:
    job = case.job
    if job.kind == "loop":
        yield from _own_loop(case)
    if job.kind != "fit" or job.eager or job.steps_per_execution > 1 or job.strategy:
        return
    if batch_callbacks(job) or any(e.fix == "steps-per-execution" for e in case.edits):
        return
    share = _share(case.measured)
    step_ms = case.measured.step.ceiling.value * share
    if share < 1:
        yield Proposal(
            Edit("steps-per-execution", None, {"steps": _steps(job, step_ms)}),
            "exact",
            job.where,
            step_ms=step_ms,
        )


def _own_loop(case: Case) -> Iterator[Proposal]:
    """Only a graph can be launched so."""
    job, before = case.job, {edit.fix for edit in case.edits}
    compiled = "compile-step" in before
    if not job.bare or job.strategy or "steps-per-execution" in before:
        return
    if any(map(_may_see_the_step, case.pipeline.stages())):
        return
    share = _COMPILED if compiled else 1.0 if job.eager else _share(case.measured)
    step_ms = case.measured.step.ceiling.value * share
    if share < 1:
        yield Proposal(
            Edit("steps-per-execution", None, {"steps": _most(step_ms)}),
            "exact",
            job.where,
            step_ms=step_ms,
        )


def _may_see_the_step(stage: Stage) -> bool:
    """A batch is read before the step ahead of it is made: may that show in it?"""
    return not stage.pure or any(
        _VARIABLES & f.ops.keys() or (f.stateful and not f.random)
        for f in stage.functions
    )


def install(target: Target, edit: Edit) -> Undo:
    steps = int(edit.args["steps"])
    undo = [target.set(target.model, steps_per_execution=steps)]
    if target.epochs is not None:
        undo.append(target.set(target.epochs, steps_per_execution=steps))
    return all_of(undo)


def _share(measured: Measurement) -> float:
    """What is left of the step alone. Where the step waits for its input, nobody
    tried: then most of what does not depend on the batch is expected to go."""
    found = tried(measured, "step:steps-per-execution")
    if found is not None:
        return found.after.value / max(found.before.value, 1e-9)
    part = starting(measured) / max(measured.step.ceiling.value, 1e-9)
    return 1 - 0.8 * min(part, 1.0) if part > _WORTH_IT else 1.0


def _steps(job: Job, step_ms: float) -> int:
    """A number that divides the epoch, so that no launch stops half-way."""
    most = _most(step_ms)
    if job.steps_per_epoch is None:
        return min(most, _DEFAULT)
    fitting = [n for n in range(_LEAST, most + 1) if job.steps_per_epoch % n == 0]
    return max(fitting, default=min(most, _DEFAULT))


def _most(step_ms: float) -> int:
    return max(_LEAST, min(_MOST, int(_LONGEST_MS / max(step_ms, 1e-3))))
