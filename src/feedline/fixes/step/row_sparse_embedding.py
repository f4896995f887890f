"""Only the rows of the table that a batch touches are read and written

See `feedline.rows`. Under plain SGD and Adagrad the result is that of the dense update,
bit for bit: exact. Adam, AdamW, RMSprop and momentum also move rows that no batch
touched, by what is left in their moments; here these rows wait until a batch touches
them: numeric.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.fixes.args import Takes, flag
from feedline.fixes.fix import CannotFix, Case, Edit, Grade, Proposal
from feedline.fixes.patching import Patch, Source
from feedline.fixes.place import Place
from feedline.fixes.target import Target, Undo

TAKES = Takes(args={"lazy": flag()})
_EXACT = ("SGD", "Adagrad")


def propose(case: Case) -> Iterator[Proposal]:
    tables = case.measured.tables
    spared = sum(max(0.0, each.update - each.update_touched_only) for each in tables)
    if case.job.kind != "fit" or spared <= 0 or case.job.layers == ():
        return
    if any(edit.fix == "row-sparse-embedding" for edit in case.edits):
        return
    table = max(tables, key=lambda each: each.update)
    grade: Grade = "exact" if table.optimizer in _EXACT else "numeric"
    ceiling = case.measured.step.ceiling.value
    yield Proposal(
        Edit("row-sparse-embedding", None, {"lazy": grade == "numeric"}),
        grade,
        table.where or case.job.where,
        step_ms=max(ceiling - spared, 0.02 * ceiling),
    )


def least(edit: Edit) -> Grade:
    return "numeric" if edit.args.get("lazy") else "exact"


def install(target: Target, edit: Edit) -> Undo:
    from feedline.rows import CannotInstall, install

    try:
        installed = install(target.model, lazy=bool(edit.args.get("lazy")))
    except CannotInstall as reason:
        raise CannotFix(str(reason)) from reason

    def undo() -> None:
        installed.remove()

    return undo


def _comment(place: Place, _: str) -> str:
    lazy = bool(place.edit.args.get("lazy"))
    return (
        "from feedline.rows import install, and after the model's compile(...): "
        f"install(model, lazy={lazy})"
    )


def _edit(source: Source, place: Place) -> None:
    names = ("row_sparse", "feedline_row_sparse")
    lazy = bool(place.edit.args.get("lazy"))
    source.call_after("feedline.rows", "install", names, f"lazy={lazy}")


PATCH = Patch(_comment, _edit)
