"""Several steps go in one launch

`steps_per_execution`: Keras calls TensorFlow once for many steps, so what a call
costs is paid once for all of them. The arithmetic is that of single steps; kept
as exact only where the weights come out bit for bit the same.

Callbacks hear of batches less often. Where one of the user's callbacks may act on
batches the fix is not proposed.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes.look import batch_callbacks, tried
from feedline.fixes.fix import Case, Edit, Kind, Proposal
from feedline.fixes.target import Target, Undo, all_of

KIND: Kind = "step"
_MOST = 32
_LEAST = 4
_DEFAULT = 16


def propose(case: Case) -> Iterator[Proposal]:
    job = case.job
    if job.kind != "fit" or job.eager or job.steps_per_execution > 1 or job.strategy:
        return
    if batch_callbacks(job) or any(e.fix == "steps-per-execution" for e in case.edits):
        return
    measured = tried(case.measured, "step:steps-per-execution")
    if measured is None or measured.gain <= 0:
        return
    share = measured.after.value / max(measured.before.value, 1e-9)
    yield Proposal(
        Edit("steps-per-execution", None, {"steps": _steps(job.steps_per_epoch)}),
        "exact",
        job.where,
        step_ms=case.measured.step.ceiling.value * share,
    )


def install(target: Target, edit: Edit) -> Undo:
    steps = int(edit.args["steps"])
    undo = [target.set(target.model, steps_per_execution=steps)]
    if target.epochs is not None:
        undo.append(target.set(target.epochs, steps_per_execution=steps))
    return all_of(undo)


def _steps(per_epoch: int | None) -> int:
    """A number that divides the epoch, so that no launch stops half-way."""
    if per_epoch is None:
        return _DEFAULT
    fitting = [n for n in range(_LEAST, _MOST + 1) if per_epoch % n == 0]
    return max(fitting, default=_DEFAULT)
