"""The step runs as a graph, not operation by operation

`run_eagerly=True` (often left over from debugging) makes Python start every
operation. Compiled, the same operations run as one graph. Kept as exact only
where the weights come out bit for bit the same; a graph may round otherwise, then
it is numeric.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes.look import tried
from feedline.fixes.fix import Case, Edit, Kind, Proposal
from feedline.fixes.target import Target, Undo

KIND: Kind = "step"


def propose(case: Case) -> Iterator[Proposal]:
    measured = tried(case.measured, "step:compiled")
    if case.job.kind != "fit" or not case.job.eager or measured is None:
        return
    if measured.gain <= 0 or any(edit.fix == "compile-step" for edit in case.edits):
        return
    share = measured.after.value / max(measured.before.value, 1e-9)
    yield Proposal(
        Edit("compile-step"),
        "exact",
        case.job.where,
        step_ms=case.measured.step.ceiling.value * share,
    )


def install(target: Target, edit: Edit) -> Undo:  # noqa: ARG001
    return target.set(target.model, run_eagerly=False)
