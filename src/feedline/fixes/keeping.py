"""What every fix that keeps elements asks first, when it proposes and when it is
applied: is what would be kept the same in every pass, and how is it seen if it is not?

A plan may have been made for a pipeline that was changed since, so `apply` asks all of
it again, and more: there the datasets are at hand, and the files that they read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from feedline.fixes.fix import CannotFix, Edit
from feedline.job.tfdata import ops
from feedline.job.tfdata.constant import reads_files, unordered, why_not_same
from feedline.job.tfdata.ops import Fact
from feedline.job.tfdata.own_stage import MADE_BY
from feedline.job.tfdata.pipeline import Pipeline, Stage

if TYPE_CHECKING:
    from feedline.fixes.means.store.evidence import Evidence


def why_not(
    front: Stage,
    after: Iterable[Stage],
    options: Any,
    *,
    strategy: str | None = None,
    reordered: bool = False,
    moved: bool = False,
) -> str:
    """Why what `front` gives may not be kept, empty where it may. `after` is what
    reads it, up to the end; `reordered` allows an order that varies; `moved` says that
    `front` would stand before a shuffle that it stood behind."""
    if reason := why_not_same(front):
        return reason
    if unordered(front, options) and not reordered:
        return f"the order of {front.label()} may be another in every pass"
    for stage in after:
        if stage.has(Fact.ENDS_EARLY):
            return f"{stage.label()} breaks passes off"
        if moved and stage.op == ops.IGNORE_ERRORS:
            return "elements that fail are left out, and would fail before the shuffle"
    if strategy is not None and reads_files(front):
        return f"it reads files, which are not looked at again under {strategy}"
    return ""


def check(
    pipeline: Pipeline,
    front: Stage,
    after: Iterable[Stage],
    edit: Edit,
    *,
    moved: bool = False,
) -> None:
    """Raises `CannotFix` with the reason."""
    reordered = bool(edit.args.get("reordered"))
    options = pipeline.options
    reason = why_not(front, after, options, reordered=reordered, moved=moved)
    if reason:
        raise CannotFix(f"{front.label()} may not be cached: {reason}")


def kept(pipeline: Pipeline, front: Stage, edit: Edit) -> Stage:
    """What this stage gives, kept in memory. In a trial the steady state is wanted at
    once: a part of the data, handed out again and again."""
    trial = edit.args.get("trial")
    if trial:
        front = _after(front, ops.TAKE, count=trial)
        return _after(_after(front, ops.CACHE, filename=""), ops.REPEAT, count=-1)
    watched = evidence(pipeline, front)
    args: dict[str, object] = {}
    if watched:
        from feedline.fixes.means.store.guard import Guard

        args[MADE_BY] = Guard(watched)
    return _after(front, ops.CACHE, filename="", **args)


def evidence(pipeline: Pipeline, front: Stage) -> Evidence | None:
    """What `front` depends on outside of the program, to be looked at in every pass;
    None for a pipeline that was written down, with no dataset behind it."""
    if pipeline.handle is None:
        return None
    from feedline.fixes.means.store.evidence import evidence_of
    from feedline.fixes.means.store.graphs import Unknown
    from feedline.job.tfdata.read import read
    from feedline.job.tfdata.rebuild import rebuild

    try:
        return evidence_of(read(rebuild(replace(pipeline, root=front))))
    except Unknown as reason:
        raise CannotFix(f"{front.label()} may not be cached: {reason}") from reason


def _after(stage: Stage, op: str, **args: object) -> Stage:
    return Stage(op, inputs=(stage,), args=args, spec=stage.spec, where=stage.where)
