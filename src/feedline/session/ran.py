"""What the script's process had to say, as the command hands it on: the report, judged;
the exit code, as a shell has it; the plan, for a file and for the next run.
"""

from __future__ import annotations

import json
import signal
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from msgspec import structs

from feedline.errors import FeedlineError, ReportError, one_sentence
from feedline.fixes.saved import PlanError, SavedPlan
from feedline.report.json import from_json
from feedline.report.report import Report
from feedline.session.judge import judge, judge_again, with_training
from feedline.session.messages import Order, Outcome
from feedline.session.plans.memory import Remembered
from feedline.session.worth import balance

if TYPE_CHECKING:
    from feedline.session.rehearsal.ahead import Rehearsed


@dataclass(frozen=True)
class Ran:
    """How `feedline run` went. `report` is None where nothing was measured."""

    code: int
    report: Report | None = None
    plan: SavedPlan | None = None
    applied: bool = False
    balance: str = ""
    """What measuring cost and the fixes saved, as a line."""


def came_to(
    order: Order,
    outcome: Outcome,
    code: int,
    known: Report | None,
    say: Callable[[str], None],
) -> Ran:
    """`known` is the report of the plan that was given."""
    report, outcome = judged(outcome)
    raise_refusal(outcome)
    if outcome.failed:
        last = outcome.failed.strip().splitlines()[-1]
        say(f"measuring failed; this is a bug in feedline: {one_sentence(last)}")
    if code < 0:
        if code != -signal.SIGINT:
            say(f"the script was killed by {signal.Signals(-code).name}")
        code = 128 - code
    plan = outcome.plan
    if report is not None and plan is not None:
        plan = replace(plan, report=json.loads(report.to_json()))
    elif plan is not None:
        report = known
    elif code == 0 and not outcome.loops and not outcome.rehearsed:
        seen = nothing_seen(order.target[0], order.loop, outcome)
        say(seen.splitlines()[0])
    if report is not None:
        report = with_training(report, outcome.trained)
    after = report.after if report is not None else None
    saved_s = after.saved_s if after is not None and after.saved_s else 0.0
    if report is not None and report.validation is not None:
        saved_s += report.validation.saved_s or 0.0
    measured_s = outcome.trained.measuring_s
    said = "" if max(measured_s, saved_s) < 1 else balance(measured_s, saved_s)
    return Ran(code, report, plan, outcome.applied, said)


def judged(outcome: Outcome) -> tuple[Report | None, Outcome]:
    """The report of what was measured. Where judging fails, the outcome says so: how
    the script ended stays what it was."""
    if outcome.basis is None:
        return None, outcome
    try:
        return judge(outcome.basis), outcome
    except Exception:
        return None, structs.replace(outcome, failed=traceback.format_exc())


def report_of(
    plan: SavedPlan | None, *, damaged_is_none: bool = False
) -> Report | None:
    """Judged before the script is run: it may run for days."""
    if plan is None or plan.report is None:
        return None
    try:
        return judge_again(from_json(json.dumps(plan.report)))
    except (ReportError, ValueError, TypeError) as error:
        if damaged_is_none:
            return None
        raise PlanError(
            f"the plan is damaged: its report cannot be read: {error}. Remove its file "
            "to measure again"
        ) from None


def raise_refusal(outcome: Outcome) -> None:
    if outcome.refused:
        error = FeedlineError(outcome.refused)
        error.exit_code = outcome.exit_code
        raise error


def nothing_seen(script: str, loop: int | None, outcome: Outcome) -> str:
    wanted = "a training loop" if loop is None else f"a training loop number {loop}"
    lines = [f"{script} finished without {wanted} long enough to measure."]
    if not outcome.tensorflow:
        lines.append("It never imported TensorFlow.")
    lines += [f"Seen: {what}" for what in outcome.seen]
    lines.append(
        "feedline measures Model.fit and loops that take gradients over a "
        "tf.data.Dataset."
    )
    return "\n".join(lines)


def of_earlier_run(
    plan: SavedPlan | None, remembered: Sequence[Remembered]
) -> SavedPlan | None:
    """The plan of an earlier run that was used, with the report that it came from."""
    if plan is None:
        return None
    job = (plan.where, plan.made_for)
    plans = (each.plan for each in remembered)
    return next((each for each in plans if (each.where, each.made_for) == job), None)


def to_remember(ran: Ran, outcome: Outcome, rehearsed: Rehearsed) -> list[Remembered]:
    """What was found in this run; the plan that the report is about keeps it."""
    learned = list(outcome.learned)
    if rehearsed.plan is not None and rehearsed.basis is not None:
        step_ms = rehearsed.basis.measurement.step.observed.value
        learned.append(Remembered(rehearsed.plan, rehearsed.seconds, step_ms))
    return [replace(each, plan=_reported(each.plan, ran.plan)) for each in learned]


def _reported(plan: SavedPlan, about: SavedPlan | None) -> SavedPlan:
    """The same plan as the report came with, if it is about this one."""
    if about is None:
        return plan
    same = replace(about, report=None, places=plan.places, validation=plan.validation)
    return replace(about, validation=plan.validation) if same == plan else plan
