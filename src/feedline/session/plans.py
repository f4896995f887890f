"""A plan for a live job: made from what was proved, and held against the job as it is
when the plan is to be applied. Nothing is applied here.

TensorFlow is the script's to load: nothing here imports it before that.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from feedline import fixes
from feedline.fixes.binding import Binding, without_step
from feedline.fixes.fix import Edit
from feedline.fixes.means.own_step.hoist import Hoist
from feedline.fixes.saved import SavedPlan
from feedline.job.tfdata.pipeline import Pipeline
from feedline.prove.proof import Cured


def plan_for(loop: Any, now: Binding, pipeline: Pipeline, cured: Cured) -> SavedPlan:
    """A plan for the job as it was before it was measured. One that leaves the step
    alone holds for any step."""
    plan = SavedPlan(
        str(loop.where),
        now.pipeline,
        cured.edits,
        places=_places(pipeline, cured.edits, loop),
        grades=cured.plan.grades,
    )
    return replace(plan, made_for=now if plan.of_step else without_step(now))


def _places(
    pipeline: Pipeline, edits: tuple[Edit, ...], loop: Any
) -> tuple[dict[str, Any], ...]:
    """Where in the source the edits belong, for `--patch`."""
    from feedline.fixes.places import places
    from feedline.job.loops.facts import step_where

    own = loop.kind == "loop"
    found = places(pipeline, edits, loop.where, step_where(loop), own=own)
    return tuple(each.to_dict() for each in found)


def refusal(plan: SavedPlan, now: Binding) -> str | None:
    """Why the plan does not hold for the job as it is now; None where it does."""
    of_step = plan.made_for.of_step
    return plan.made_for.refusal(now if of_step else without_step(now))


def loops_to_rewrite(plan: SavedPlan | None, script: str) -> Hoist:
    """The script is run as it was written, but for the loop that a proved plan names:
    its line, where the step in it is to become a function."""
    if plan is None:
        return False
    asked = fixes.own_loop(plan.edits)
    if not asked.as_graph and asked.steps == 1:
        return False
    file, _, line = plan.where.rpartition(":")
    if file != os.path.basename(script) or not line.isdigit():
        return False
    return frozenset({int(line)})
