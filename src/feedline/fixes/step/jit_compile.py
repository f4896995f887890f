"""XLA compiles the step

`jit_compile=True` fuses the step's operations into few. Sums are made in another order,
so the last bits differ: numeric. In a loop of your own, `compile-step` must have made
the step a graph.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes.asking import launching
from feedline.fixes.args import Takes
from feedline.fixes.fix import CannotFix, Case, Edit, Grade, OwnLoop, Proposal
from feedline.fixes.patching import Patch, Source
from feedline.fixes.place import Place
from feedline.fixes.target import Target, Undo, all_of

TAKES = Takes()
_FUSED = 0.6  # of the graph's time, a guess to be measured


def propose(case: Case) -> Iterator[Proposal]:
    job, step = case.job, case.measured.step
    if job.kind == "loop":
        yield from _own_step(case)
    if job.kind != "fit" or job.jit_compile or job.eager or job.strategy:
        return
    fixed = launching(case.measured)
    if fixed <= 0 or any(edit.fix == "jit-compile" for edit in case.edits):
        return
    yield Proposal(
        Edit("jit-compile"),
        "numeric",
        job.where,
        # What is launched is fused; that it takes half is a guess, to be measured.
        step_ms=step.ceiling.value - fixed / 2,
    )


def _own_step(case: Case) -> Iterator[Proposal]:
    """Only what was compiled can be fused. Nothing is known of the graph by then."""
    before = {edit.fix for edit in case.edits}
    if "compile-step" in before and "jit-compile" not in before:
        yield Proposal(
            Edit("jit-compile"),
            "numeric",
            case.job.step_where or case.job.where,
            step_ms=case.measured.step.ceiling.value * _FUSED,
        )


def least(edit: Edit) -> Grade:  # noqa: ARG001
    return "numeric"


def check(target: Target) -> None:
    """A step that is a graph, and not compiled by XLA already."""
    target.alone()
    if target.model.jit_compile:
        raise CannotFix("XLA compiles the step already")
    if target.model.run_eagerly:
        raise CannotFix("the step is not a graph: it runs eagerly")


def install(target: Target, edit: Edit) -> Undo:  # noqa: ARG001
    check(target)
    target.for_training(jit_compile=True)
    return all_of([])


def own_loop(_: Edit) -> OwnLoop:
    return OwnLoop(fused=True)


def _comment(_place: Place, _tune: str) -> str:
    return "jit_compile=True in the model's compile(...)"


def _edit(source: Source, _: Place) -> None:
    source.set_compile("jit_compile", "True")


PATCH = Patch(_comment, _edit, said_with="compile-step")
