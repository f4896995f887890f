"""A plan for a live job: made from what was proved, and held against the job as it is
when the plan is to be applied. Nothing is applied here.

TensorFlow is the script's to load: nothing here imports it before that.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from feedline import fixes
from feedline.fixes.binding import Binding, without_step
from feedline.fixes.fix import Edit
from feedline.fixes.means.own_step.hoist import Hoist
from feedline.fixes.saved import SavedPlan
from feedline.job.tfdata import ops
from feedline.job.tfdata.pipeline import Pipeline, Stage
from feedline.prove.proof import Cured


def plan_for(
    loop: Any, now: Binding, pipeline: Pipeline | None, cured: Cured
) -> SavedPlan:
    """A plan for the job as it was before it was measured. One that leaves the step
    alone holds for any step. No pipeline: no dataset feeds it."""
    plan = SavedPlan(
        str(loop.where),
        now.pipeline,
        cured.edits,
        places=_places(pipeline, cured.edits, loop),
        grades=cured.plan.grades,
    )
    return replace(plan, made_for=now if plan.of_step else without_step(now))


def _places(
    pipeline: Pipeline | None, edits: tuple[Edit, ...], loop: Any
) -> tuple[dict[str, Any], ...]:
    """Where in the source the edits belong, for `--patch`."""
    from feedline.fixes.places import places
    from feedline.job.loops.facts import step_where

    own = loop.kind == "loop"
    read = pipeline or Pipeline(Stage(ops.OPAQUE))
    found = places(read, edits, loop.where, step_where(loop), own=own)
    return tuple(each.to_dict() for each in found)


def refusal(plan: SavedPlan, now: Binding) -> str | None:
    """Why the plan does not hold for the job as it is now; None where it does."""
    of_step = plan.made_for.of_step
    return plan.made_for.refusal(now if of_step else without_step(now))


def loops_to_rewrite(plans: Iterable[SavedPlan], script: str) -> Hoist:
    """The script is run as it was written, but for the loops that proved plans name:
    their lines, where the step in them is to become a function."""
    lines = set()
    for plan in plans:
        asked = fixes.own_loop(plan.edits)
        file, _, line = plan.where.rpartition(":")
        rewrites = asked.as_graph or asked.steps > 1
        if rewrites and file == os.path.basename(script) and line.isdigit():
            lines.add(int(line))
    return frozenset(lines) or False


def without_edits(plan: SavedPlan) -> SavedPlan:
    """Nothing helps: found out too, and kept."""
    return replace(plan, edits=(), places=(), grades=())
