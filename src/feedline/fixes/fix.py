"""What a fix is: `Edit` (one change as plain data), `Proposal`, the grades.

An edit can be saved in a plan and applied to the same pipeline in another run:
it names the fix, the stage it works on by its number, and a few plain values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from feedline.errors import FeedlineError
from feedline.job.job import Job
from feedline.job.tfdata.pipeline import Pipeline, Stage, Where
from feedline.measure.measurement import Measurement, StageCost

Grade = Literal["exact", "reordered", "numeric", "advice"]
GRADES: tuple[Grade, ...] = get_args(Grade)
"""From what changes nothing to what needs a person; see DESIGN, "Grades"."""

Kind = Literal["pipeline", "step", "both"]

Order = Literal["same", "any", "values may differ"]
"""How the elements of a fixed pipeline are compared with those of the user's."""


@dataclass(frozen=True)
class OwnLoop:
    """What edits ask of a loop of the script's own: its step as a graph, compiled by
    XLA, several in one launch, one trace for all shapes."""

    as_graph: bool = False
    fused: bool = False
    steps: int = 1
    open_shapes: bool = False


class CannotFix(Exception):
    """This fix does not fit this job; the message says why."""


@dataclass(frozen=True)
class Edit:
    """One change. `stage` is the number of the stage it works on, None where it
    is about the whole pipeline or about the step."""

    fix: str
    stage: int | None = None
    args: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def to_dict(self) -> dict[str, Any]:
        return {"fix": self.fix, "stage": self.stage, "args": dict(self.args)}


@dataclass(frozen=True)
class Proposal:
    """An edit that may help this job.

    `costs` are the stages as they are expected to cost after it; where the fix is
    about the step, `step_ms` is what the step alone (at its ceiling) is expected
    to take. `grade` is what the edit promises; proving comes later.
    """

    edit: Edit
    grade: Grade
    where: Where | None = None
    costs: tuple[StageCost, ...] | None = None
    step_ms: float | None = None
    note: str = ""


@dataclass(frozen=True)
class AtOnce:
    """An edit that needs no trial: it changes nothing, whatever the job does, and reads
    nothing twice. `counts` says how often it has saved work so far and how often not;
    `stop` takes it out while the job goes on; `came_to` is what it did, in words."""

    proposal: Proposal
    counts: Callable[[], tuple[int, int]]
    stop: Callable[[], None]
    came_to: Callable[[], str] = lambda: ""


@dataclass(frozen=True)
class Case:
    """What a fix looks at: the job as it now stands (with the edits so far), its
    measurement, and the stages' expected costs after these edits."""

    job: Job
    measured: Measurement
    pipeline: Pipeline
    costs: tuple[StageCost, ...]
    edits: tuple[Edit, ...] = ()
    used: frozenset[int] = frozenset()
    """Numbers of stages that keep a state and were already read from: to make
    them again would begin that state anew."""
    step_ms: float | None = None
    """The step alone, where an edit has made it shorter than it was measured."""
    input_only: bool = False
    """The step is to stay as it is: it validates."""

    def stage(self, number: int | None) -> Stage:
        return find(self.pipeline, number)

    def cost(self, stage: Stage) -> StageCost | None:
        return next((c for c in self.costs if c.index == stage.number >= 0), None)

    def with_cost(self, cost: StageCost, **changes: Any) -> tuple[StageCost, ...]:
        """The stages' costs, this one changed."""
        other = replace(cost, **changes)
        return tuple(other if each is cost else each for each in self.costs)

    def movable(self, stage: Stage) -> bool:
        """May what stands at and before this stage be made again without a
        stage after it losing its state?"""
        return not any(
            later.number in self.used for later in self.pipeline.after(stage)
        )


def find(pipeline: Pipeline, number: int | None) -> Stage:
    for stage in pipeline.stages():
        if stage.number == number:
            return stage
    raise CannotFix(f"the pipeline has no stage number {number}")


def grades(allowed: Sequence[str]) -> tuple[Grade, ...]:
    """The grades that may be applied; `exact` always may."""
    unknown = [name for name in allowed if name not in GRADES[:3]]
    if unknown:
        raise FeedlineError(
            f"{unknown[0]!r} cannot be allowed. Allow any of: {', '.join(GRADES[:3])}"
        )
    return tuple(grade for grade in GRADES if grade == "exact" or grade in allowed)
