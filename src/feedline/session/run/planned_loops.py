"""A loop of the script's own for which a plan is known before it begins: what it reads,
and what is done with its step. Which plan that is depends on the line; whether it holds
is asked twice, of the data where it is read and of the step once it was made.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from feedline import fixes
from feedline.fixes.binding import Binding, only_step, without_step
from feedline.fixes.identity.step import step_of
from feedline.fixes.step import steps_per_execution
from feedline.job import marks
from feedline.prove.bound import bound

if TYPE_CHECKING:
    from feedline.fixes.saved import SavedPlan
    from feedline.job.tfdata.pipeline import Where
    from feedline.session.run.runner import Runner


class PlannedLoops:
    """All such loops of a run."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner

    def plan_at(self, where: Where | str | None) -> SavedPlan | None:
        """The plan for a loop of the script's own at this line."""
        plans, line = self.runner.plans, str(where)
        if plans.given is not None:
            return plans.given if line == plans.given.where else None
        if plans.is_stale(line):
            return None
        found = self.runner.own_loops.plan
        known = [] if found is None else [found]
        known += plans.of_this_source()
        return next((plan for plan in known if plan.where == line), None)

    def read_for(self, dataset: Any, where: Where | None) -> Any:
        """What is read in this dataset's place: the tuned one, once there is one,
        wherever it is read; or this loop of the script's, with the plan applied."""
        runner = self.runner
        known = runner.applied.instead_of(dataset)
        if known is not None:
            return known
        plan = self.plan_at(where)
        if plan is None or runner.watch.fits.now is not None:
            return dataset
        if getattr(dataset, marks.TUNED, False) or not plan.edits:
            return dataset
        pipeline = runner.pipeline_of(dataset)
        if pipeline is None:
            return dataset
        of_input = replace(plan, made_for=without_step(plan.made_for))
        if runner.plans.refuses(of_input, bound(pipeline)):
            return dataset
        if fixes.own_loop(plan.edits).steps > 1:
            steps_per_execution.check_own(pipeline)
        return runner.applied.tuned(dataset, plan.edits)

    def first_step(self, loop: Any) -> None:
        """After the first step of such a loop: its variables are there."""
        runner = self.runner
        plan = self.plan_at(loop.where)
        if plan is None or runner.given_up:
            with runner.watch.pause():
                runner.begun[id(loop)] = step_of(loop)
            return
        if runner.plans.refused:
            return
        with runner.watch.pause():
            step = Binding((step_of(loop),)) if plan.of_step else Binding()
            of_step = replace(plan, made_for=only_step(plan.made_for))
            if runner.plans.refuses(of_step, step):
                return
        runner.plans.uses(plan)
        asked = fixes.own_loop(plan.edits)
        if asked.as_graph:
            own = loop.own_step()
            own.tell = self.step_lost
            own.fused = asked.fused
            own.on = True
        if asked.steps > 1:
            loop.together = loop.steps_together(asked.steps)
            loop.together.tell = self._launches_lost

    def step_lost(self, why: str) -> None:
        """The graph of the step is no longer the same: as an edit of the source it
        would be wrong."""
        self.runner.say(f"the step runs from Python again: {why}")
        self.runner.plans.lost(lambda asked: asked.as_graph or asked.fused)

    def _launches_lost(self, why: str) -> None:
        self.runner.say(f"steps are launched one by one again: {why}")
        self.runner.plans.lost(lambda asked: asked.steps > 1)
