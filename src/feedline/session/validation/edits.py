"""The edits that a fit's validation is read with: known from a plan, or found by
measuring it. Whether they are put in is not decided here."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from feedline.errors import CannotPutBack, FeedlineError
from feedline.fixes.binding import Binding
from feedline.fixes.fix import Edit
from feedline.fixes.saved import SavedPlan
from feedline.session.plans.memory import Remembered
from feedline.session.plans.plan import refusal, without_edits
from feedline.session.worth import Budget, TooShort

if TYPE_CHECKING:
    from feedline.job.tfdata.pipeline import Pipeline
    from feedline.measure.measurement import ValidationTimes
    from feedline.prove.proof import Cured
    from feedline.session.run.runner import Runner
    from feedline.session.validation.one_fit import OneFit


class Edits:
    """`plan` was made in this run or recalled."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.plan: SavedPlan | None = None
        self._made: list[tuple[SavedPlan, float]] = []  # and a pass without it

    def known(self, loop: Any, now: Binding) -> tuple[tuple[Edit, ...] | None, float]:
        """By a plan, and what a pass took without them; None where it is to be
        measured."""
        runner, where = self.runner, where_of(loop)
        for plan, own_s in self._made:
            if plan.where == where and refusal(plan, now) is None:
                return plan.edits, own_s
        if runner.plans.given is not None:
            given = runner.plans.given.validation
            if given is None or given.where != where or refusal(given, now) is not None:
                return (), 0.0
            return given.edits, 0.0
        passes = loop.validation.passes
        known = runner.plans.recall(where, now, lambda each: self._worth(passes, each))
        if known is None:
            return None, 0.0
        self.plan = known.plan
        if known.plan.edits:
            runner.say(
                f"applying {names(known.plan.edits)} to the {where}, as an earlier run "
                "found (--fresh measures again)"
            )
        return known.plan.edits, known.step_ms / 1e3

    def _worth(self, passes: int | None, known: Remembered) -> float:
        """How long it would be measured now. (Of a validation a pass is remembered, and
        not a step.)"""
        all_s = None if passes is None else passes * known.step_ms / 1e3
        return self.runner.time.worth(known.plan.where, all_s)

    def measured(
        self, loop: Any, fit: OneFit, data: Any, pipeline: Pipeline, now: Binding
    ) -> tuple[Edit, ...]:
        """Those that were proved, of what reads `data`."""
        runner, where = self.runner, where_of(loop)
        if not runner.time.may_look(where):
            return ()
        seconds = runner.time.for_validation()
        began = time.perf_counter()
        try:
            found = self._examined(loop, data, pipeline, seconds)
        except TooShort:
            runner.time.looked(where, time.perf_counter() - began)
            return ()
        except (CannotPutBack, FeedlineError) as reason:
            fit.why_not = str(reason)
            return ()
        finally:
            runner.time.spent_s += time.perf_counter() - began
        fit.times, fit.cured = found
        edits = fit.cured.edits
        self.plan = SavedPlan(
            where, now.pipeline, edits, grades=fit.cured.plan.grades, made_for=now
        )
        self._made.append((self.plan, fit.times.seconds))
        spent_s = time.perf_counter() - began
        runner.remember(Remembered(self.plan, spent_s, 1e3 * fit.times.seconds))
        runner.say(f"{where}: {_took(fit.times)}; {_doing(edits)}")
        return edits

    def _examined(
        self, loop: Any, data: Any, pipeline: Pipeline, seconds: float
    ) -> tuple[ValidationTimes, Cured]:
        """Raises `TooShort` where the passes that are left could not repay it."""
        from feedline.session.validation.trial import examine_and_cure

        runner = self.runner
        return examine_and_cure(
            loop,
            data,
            pipeline,
            runner.allowed,
            Budget(seconds, runner.order.given),
            read_already=list(runner.watch.read_already),
            say=runner.say,
            budgeted=lambda s: runner.say(
                f"measuring the {where_of(loop)}, at most {s:.3g} s"
            ),
        )

    def taken_out(self, loop: Any) -> None:
        """They turned out slower: neither this run nor the next uses them again."""
        where = where_of(loop)
        if self.plan is not None and self.plan.where == where:
            self.plan = without_edits(self.plan)
            self._made = [each for each in self._made if each[0].where != where]
            order = self.runner.order
            self.runner.remember(Remembered(self.plan, order.seconds))


def where_of(loop: Any) -> str:
    return validation_of(loop.where)


def validation_of(where: Any) -> str:
    """What stands in a plan in the place of a loop's line."""
    return f"validation of {where}"


def names(edits: tuple[Edit, ...]) -> str:
    return ", ".join(edit.fix for edit in edits)


def _took(times: ValidationTimes) -> str:
    waits = ""
    if times.input_s is not None:
        waits = f", {times.input_s:.1f} s of it waiting for its input"
    return f"a pass takes {times.seconds:.1f} s{waits}"


def _doing(edits: tuple[Edit, ...]) -> str:
    return f"applying {names(edits)}" if edits else "no allowed fix made it faster"
