"""Where in the user's source an edit belongs: `Place`, and `places`, which makes
them from a pipeline. Plain data, so that a saved plan can hold it; nothing here
reads a file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from feedline import fixes
from feedline.errors import FeedlineError
from feedline.fixes.fix import Edit
from feedline.job.tfdata import ops
from feedline.job.tfdata.ops import Fact
from feedline.job.tfdata.pipeline import Pipeline, Stage, Where

_AT_THE_END = ("prefetch", "prefetch-to-device")
SHUFFLE_PASSES = Fact.PASSES_ON | Fact.SAYS_ONLY
_SERIAL = (None, 0, 1)


@dataclass(frozen=True)
class Place:
    """One line that an edit is about.

    `op` is the stage's op, `fit` or `compile` for an edit of the step, `def` for a
    function that is the step, empty where only the line is known. One line can make
    several stages of a kind: this is number `nth` of the `of` that the line made,
    `alike` of them with this label. `over` is how many stages a moved one may move
    before. `code` is the line as it was when the job ran: where it now reads
    otherwise, the file has changed and is left alone.
    """

    edit: Edit
    file: str
    line: int
    op: str
    label: str = ""
    nth: int = 0
    of: int = 1
    alike: int = 1
    over: int = 1
    code: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {
            "edit": self.edit.to_dict(),
            "file": self.file,
            "line": self.line,
            "op": self.op,
            "label": self.label,
            "nth": self.nth,
            "of": self.of,
            "alike": self.alike,
            "over": self.over,
            "code": self.code,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Place:
        """Raises `FeedlineError` where `data` is no place."""
        try:
            edit = data["edit"]
            stage = edit["stage"]
            return cls(
                Edit(
                    str(edit["fix"]),
                    None if stage is None else int(stage),
                    dict(edit["args"]),
                ),
                str(data["file"]),
                int(data["line"]),
                str(data["op"]),
                str(data["label"]),
                int(data["nth"]),
                int(data["of"]),
                int(data["alike"]),
                int(data["over"]),
                str(data["code"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise FeedlineError(
                f"the plan does not say where its changes belong: {error!r}. Remove "
                "its file to measure anew"
            ) from None


def places(
    pipeline: Pipeline,
    edits: Sequence[Edit],
    loop: Where | None,
    step: Where | None = None,
    *,
    own: bool = False,
) -> tuple[Place, ...]:
    """The places of these edits. `pipeline` is the job's own, numbered, with none
    of them applied; `loop` is the line of its training loop, one of the script's
    `own` or a call of `fit`, `step` that of the user's function that is its step,
    where it is one. To be called where the job runs: file names may be relative to
    its directory. What no line of the user's made, and no loop can stand for, has no
    place."""
    return tuple(
        place
        for edit in edits
        for place in _places_of(pipeline, edit, edits, loop, step, own)
        if place is not None
    )


def _places_of(
    pipeline: Pipeline,
    edit: Edit,
    edits: Sequence[Edit],
    loop: Where | None,
    step: Where | None,
    own: bool,
) -> Iterator[Place | None]:
    known_fix = fixes.all().get(edit.fix)
    if step is not None and edit.fix == "compile-step":
        fused = any(each.fix == "jit-compile" for each in edits)
        how = replace(edit, args={"fused": True}) if fused else edit
        yield _at(how, step, "def", "the step")
        return
    compiled = step is not None and any(e.fix == "compile-step" for e in edits)
    if compiled and edit.fix == "jit-compile":
        return  # said with the other
    if known_fix is not None and known_fix.kind == "step":
        yield _at(edit, loop, *(("for", "the loop") if own else ("fit", "fit()")))
        return
    if edit.fix in _AT_THE_END:
        stages = [pipeline.root]
    elif edit.fix == "unordered":
        stages = [stage for stage in pipeline.stages() if _ordered(stage, edits)]
    else:
        stages = [s for s in pipeline.stages() if s.number == edit.stage is not None]
    known = [stage for stage in stages if stage.where is not None]
    if not known:
        yield _at(edit, loop, "", stages[0].label() if stages else "the pipeline")
    for stage in known:
        yield _of_stage(pipeline, edit, stage)


def _of_stage(pipeline: Pipeline, edit: Edit, stage: Stage) -> Place | None:
    same = [
        other
        for other in pipeline.stages()
        if other.op == stage.op
        and other.where is not None
        and stage.where is not None
        and (other.where.file, other.where.line) == (stage.where.file, stage.where.line)
    ]
    nth = next(n for n, other in enumerate(same) if other is stage)
    return _at(
        edit,
        stage.where,
        stage.op,
        stage.label(),
        nth=nth,
        of=len(same),
        alike=sum(other.label() == stage.label() for other in same),
        over=_over(stage) if edit.fix == "shuffle-ids" else 1,
    )


def _at(
    edit: Edit, where: Where | None, op: str, label: str, **counts: int
) -> Place | None:
    if where is None:
        return None
    file = os.path.abspath(where.file)
    return Place(edit, file, where.line, op, label, code=where.code, **counts)


def _ordered(stage: Stage, edits: Sequence[Edit]) -> bool:
    """Will it run in parallel and keep the order, once the other edits are made?"""
    if stage.args.get("deterministic") is False:
        return False
    made = any(
        edit.stage == stage.number and not edit.args.get("split")
        for edit in edits
        if edit.fix in ("parallel-map", "parallel-batch", "interleave")
    )
    parallel = ("num_parallel_calls", "num_parallel_reads")
    return made or any(stage.args.get(name) not in _SERIAL for name in parallel)


def _over(shuffle: Stage) -> int:
    """The stages that a shuffle moves before: as `rewrite.passes.shuffle_first`."""
    count = last_map = 0
    stage = shuffle
    while len(stage.inputs) == 1:
        stage = stage.inputs[0]
        if stage.op == ops.MAP:
            clean = stage.functions and not any(
                f.python or f.random or f.stateful for f in stage.functions
            )
            if not clean or stage.args.get("deterministic") is False:
                break
            last_map = count + 1
        elif not ops.facts(stage.op) & SHUFFLE_PASSES:
            break
        count += 1
    return max(1, last_map)
