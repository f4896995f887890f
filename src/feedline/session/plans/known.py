"""The plans that are known in one run of a script: given with the order, remembered
from earlier runs, made in this one. Which of them holds for a job, and what the next
run may use. What does not hold is refused, and the user is told once.

Nothing is measured here, and nothing is applied.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from feedline import fixes
from feedline.fixes.binding import Binding
from feedline.fixes.fix import Edit
from feedline.fixes.means.own_step.hoist import Hoist
from feedline.fixes.saved import SavedPlan
from feedline.session.plans.memory import Remembered
from feedline.session.plans.plan import loops_to_rewrite, refusal, without_edits

if TYPE_CHECKING:
    from feedline.session.messages import Order


class KnownPlans:
    """`given` came with the order, `recalled` is of an earlier run and in use, `made`
    is of this run; `learned` is for the next. `refused`: the one that was given does
    not hold."""

    def __init__(self, order: Order, say: Callable[[str], None]) -> None:
        self.given = order.plan
        self.made: SavedPlan | None = None
        self.recalled: SavedPlan | None = None
        self.learned: list[Remembered] = []
        self.refused = False
        self._order, self._say = order, say
        self._stale: set[str] = set()  # the lines whose remembered plan does not hold

    @property
    def in_use(self) -> SavedPlan | None:
        return self.made or self.given or self.recalled

    @property
    def proved(self) -> SavedPlan | None:
        """By this run, or by an earlier one."""
        return self.made or self.recalled

    # ------------------------------------------------------------- before it begins

    def to_rewrite(self) -> Hoist:
        """The loops whose step becomes a function while the script loads."""
        plans = [self.given] if self.given else self.of_this_source()
        return loops_to_rewrite(plans, self._order.target[0])

    def of_this_source(self) -> list[SavedPlan]:
        """Remembered plans that may rewrite a loop while the script loads, before
        anything can be compared: only if not a byte of it changed."""
        return [each.plan for each in self._order.remembered if each.same_source]

    # ------------------------------------------------------------------ does it hold?

    def edits_for(
        self, where: str, now: Binding, worth: Callable[[Remembered], float]
    ) -> tuple[Edit, ...] | None:
        """The edits that are known for the fit at this line; None where it is to be
        measured."""
        if self.given is None:
            known = self.recall(where, now, worth)
            if known is None:
                return None
            self._use(known.plan)
            return known.plan.edits
        if where != self.given.where and self.given.where:
            return ()
        return () if self.refuses(self.given, now) else self.given.edits

    def recall(
        self, where: str, now: Binding, worth: Callable[[Remembered], float]
    ) -> Remembered | None:
        """What an earlier run found that holds for this job; None where there is none,
        or too little time was spent on it then: `worth` says how long it would be
        measured now."""
        reasons = []
        for known in self._order.remembered:
            if known.plan.where != where:
                continue
            reason = refusal(known.plan, now)
            if reason is None and known.is_final(worth(known)):
                return known
            reasons += [reason] if reason is not None else []
        if reasons:
            self._outdated(where, reasons[0])
        return None

    def step_ms(self, where: str) -> float:
        """The job's own step, as it was measured in this run or an earlier one."""
        known = [*reversed(self.learned), *self._order.remembered]
        own = (each.step_ms for each in known if each.plan.where == where)
        return next(own, 0.0)

    def is_stale(self, where: str) -> bool:
        return where in self._stale

    def refuses(self, plan: SavedPlan, now: Binding) -> bool:
        """Is the job as it is now another than the plan was made for? Said once."""
        reason = refusal(plan, now)
        if reason is not None and self.given is None:
            self._outdated(plan.where, reason)
        elif reason is not None and plan.edits and not self.refused:
            self.refused = True
            self._say(f"{reason}. Your script runs without fixes")
        return reason is not None

    def _outdated(self, where: str, reason: str) -> None:
        """Said once."""
        if where not in self._stale:
            self._stale.add(where)
            changed = reason.partition(";")[0]
            self._say(f"what an earlier run found for {where} is not used: {changed}")

    # --------------------------------------------------------------------- it is used

    def uses(self, plan: SavedPlan) -> None:
        """Said once, of a plan of an earlier run."""
        if self.given is None and self.recalled is not plan:
            self._use(plan)

    def _use(self, plan: SavedPlan) -> None:
        self.recalled = plan
        names = ", ".join(edit.fix for edit in plan.edits)
        self._say(
            f"applying {names}, as an earlier run found (--fresh measures again)"
            if names
            else "an earlier run found no fix that helps; your script runs unchanged "
            "(--fresh measures again)"
        )

    def make(self, plan: SavedPlan, spent_s: float, step_ms: float) -> None:
        """It was made in this run."""
        self.made = plan
        self.learned.append(Remembered(plan, spent_s, step_ms))

    # ------------------------------------------------------------------ it is given up

    def taken_out(self) -> None:
        """The fixes turned out slower: the next run does without them."""
        if self.proved is not None:
            nothing = without_edits(self.proved)
            self.learned.append(Remembered(nothing, self._order.seconds))

    def lost(self, which: Callable[[fixes.OwnLoop], bool]) -> None:
        """What is no longer applied is not written into the source either."""
        self.given, self.made, self.recalled = (
            _without_places(plan, which)
            for plan in (self.given, self.made, self.recalled)
        )

    def lost_open_shapes(self) -> None:
        """The next run does without it as well."""
        self.lost(lambda asked: asked.open_shapes)
        plan = self.proved
        if plan is None:
            return
        kept = [
            (edit, grade)
            for edit, grade in zip(plan.edits, plan.grades, strict=True)
            if not fixes.own_loop((edit,)).open_shapes
        ]
        edits, found = tuple(e for e, _ in kept), tuple(g for _, g in kept)
        self.made = replace(plan, edits=edits, grades=found)
        self.learned.append(Remembered(self.made, self._order.seconds))


def _without_places(
    plan: SavedPlan | None, lost: Callable[[fixes.OwnLoop], bool]
) -> SavedPlan | None:
    for edit in plan.edits if plan is not None else ():
        if plan is not None and lost(fixes.own_loop((edit,))):
            plan = plan.without_place(edit.fix)
    return plan
