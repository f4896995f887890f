"""Where in the user's source an edit belongs: `Place`, and `places`, which makes
them from a pipeline. Plain data, so that a saved plan can hold it; nothing here
reads a file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from feedline import fixes
from feedline.fixes.fix import Edit
from feedline.fixes.patching import Patch
from feedline.fixes.place import Place
from feedline.job.tfdata.pipeline import Pipeline, Stage, Where


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
    fix = fixes.all().get(edit.fix)
    patch = Patch() if fix is None else fix.patch
    if step is not None and patch.of_function is not None:
        yield _at(patch.of_function(edit, edits), step, "def", "the step")
        return
    if step is not None and any(each.fix == patch.said_with for each in edits):
        return
    if fix is not None and fix.kind == "step":
        yield _at(edit, loop, *(("for", "the loop") if own else ("fit", "fit()")))
        return
    if patch.at_end:
        stages = [pipeline.root]
    elif patch.stages is not None:
        stages = patch.stages(pipeline, edits)
    else:
        stages = [s for s in pipeline.stages() if s.number == edit.stage is not None]
    known = [stage for stage in stages if stage.where is not None]
    if not known:
        yield _at(edit, loop, "", stages[0].label() if stages else "the pipeline")
    for stage in known:
        over = 1 if patch.over is None else patch.over(stage, edits)
        yield _of_stage(pipeline, edit, stage, over)


def _of_stage(pipeline: Pipeline, edit: Edit, stage: Stage, over: int) -> Place | None:
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
        over=over,
    )


def _at(
    edit: Edit, where: Where | None, op: str, label: str, **counts: int
) -> Place | None:
    if where is None:
        return None
    file = os.path.abspath(where.file)
    return Place(edit, file, where.line, op, label, code=where.code, **counts)
