"""The road walked once: `why_script` and `run_script` for the commands, `why` and
`tune` for Python.

The command's script runs in a process of its own (`child.py`), which measures and
sends job, measurement and proof; this side starts it, waits, and judges (`judge.py`).
So a script that is killed, hangs on to the terminal or exits by itself leaves feedline
in a state to say so.
"""

from __future__ import annotations

import importlib.util
import json
import signal
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from msgspec import structs

from feedline.errors import (
    FeedlineError,
    NoTrainingLoop,
    ReportError,
    TensorFlowMissing,
    one_sentence,
)
from feedline.fixes.fix import grades
from feedline.fixes.saved import PlanError, SavedPlan
from feedline.job.script.run import check
from feedline.process.signals import Signals
from feedline.report.json import from_json
from feedline.report.report import Report
from feedline.session.children import (
    CannotStart,
    Measuring,
    Running,
    run_child,
    run_plain,
)
from feedline.session.judge import judge, judge_again, with_training
from feedline.session.memory import Memory, Remembered, without_report
from feedline.session.messages import Order, Outcome
from feedline.session.rehearsal import ahead, needed
from feedline.session.worth import balance


class MeasuringFailed(FeedlineError):
    """feedline itself failed; the script is not to blame."""

    exit_code = 1


def why_script(
    target: list[str], module: bool, seconds: float, loop: int | None
) -> tuple[Report | None, int]:
    """Measure a script. The report, or None and the exit code of a script that
    failed by itself."""
    check(target, module=module)
    _need_tensorflow()
    order = Order("why", tuple(target), module, seconds, loop)
    with Signals() as signals:
        outcome, code = _examined(order, signals)
        if outcome.basis is None and code == 0 and outcome.short is not None:
            # The training was too short to be measured in passing: run it once more
            # and stop early in the longest of its loops.
            _say(
                "training ended before it could be measured; running the script again, "
                "measuring sooner"
            )
            order = structs.replace(order, loop=outcome.short, patient=False)
            outcome, code = _examined(order, signals)
    report, outcome = _judged(outcome)
    if report is not None:
        return report, 0
    _raise_refusal(outcome)
    if outcome.failed:
        raise MeasuringFailed(
            f"measuring failed; this is a bug in feedline, not in your script:\n"
            f"{outcome.failed}"
        )
    if code < 0:
        name = signal.Signals(-code).name
        hint = ": is it out of memory?" if name == "SIGKILL" else ""
        _say(
            f"the script was killed by {name} before its training could be "
            f"measured{hint}"
        )
        return None, 128 - code
    if code > 0:
        _say(f"the script ended with exit code {code}; nothing was measured")
        return None, code
    raise NoTrainingLoop(_nothing_seen(target[0], loop, outcome))


def _examined(order: Order, signals: Signals) -> tuple[Outcome, int]:
    manner = Measuring()
    try:
        outcome, code = run_child(order, signals, manner)
    except CannotStart as error:
        raise FeedlineError(f"the script cannot be started: {error}") from None
    if manner.interrupted:
        raise KeyboardInterrupt
    return outcome, code


@dataclass(frozen=True)
class Ran:
    """How `feedline run` went. `report` is None where nothing was measured."""

    code: int
    report: Report | None = None
    plan: SavedPlan | None = None
    applied: bool = False
    balance: str = ""
    """What measuring cost and the fixes saved, as a line."""


def run_script(
    target: list[str],
    module: bool,
    seconds: float,
    loop: int | None,
    *,
    allow: Sequence[str] = ("exact",),
    plan: SavedPlan | None = None,
    rehearse: bool = False,
    dry: bool = False,
    live: bool = False,
    given: bool = True,
    fresh: bool = False,
) -> Ran:
    """Run a script to its end with the fixes that are allowed; `dry` stops it when
    they are known, `live` shows how the training goes on. `given`: the user named
    `seconds`; else they are a part of the training at most. `fresh`: use nothing that
    earlier runs found. What the script does and how it ends is its own, whatever we
    find."""
    check(target, module=module)
    if plan is not None:
        plan.check_grades(grades(allow))
    known = _report_of(plan)
    _need_tensorflow()
    memory = Memory(target, grades(allow), module=module)
    use_memory = plan is None and loop is None and not dry
    recall = use_memory and not (fresh or rehearse)
    remembered = memory.recall() if recall else ()
    uncured = memory.uncured() if recall else None
    order = Order(
        "run",
        tuple(target),
        module,
        seconds,
        loop,
        allow=tuple(grades(allow)),
        plan=None if plan is None else replace(plan, report=None),
        remembered=tuple(without_report(each) for each in remembered),
        live=live,
        given=given,
    )
    with Signals() as signals:
        if dry:
            order = structs.replace(order, mode="rehearse", everything=True)
            outcome, code = _ran(order, signals, ())
            if outcome.why_not and outcome.rehearsed:
                _say(f"no fix was found: {outcome.why_not}")
            return _came_to(order, outcome, code, known)
        rehearsed = ahead.Rehearsed()
        reason = needed.by_memory(uncured)
        if plan is None and (rehearse or reason):
            rehearsed = ahead.rehearse(
                order, signals, _say, insist=rehearse, reason=reason
            )
        if rehearsed.ended_by:
            return Ran(128 + rehearsed.ended_by)
        order = structs.replace(
            order, plan=order.plan or rehearsed.plan, told=rehearsed.told
        )
        outcome, code = _ran(order, signals, rehearsed.held, rehearsed.stdin)
    trained = outcome.trained
    spent = trained.measuring_s + rehearsed.seconds
    outcome = structs.replace(outcome, trained=replace(trained, measuring_s=spent))
    if outcome.plan is not None and outcome.basis is None:
        outcome = structs.replace(outcome, basis=rehearsed.basis)
    if known is None:
        known = _report_of(_with_report(outcome.plan, remembered), damaged_is_none=True)
    ran = _came_to(order, outcome, code, known)
    if use_memory:
        # Rehearsed once, it is not rehearsed again.
        uncured = None if rehearsed.seconds else outcome.uncured
        memory.remember(_to_remember(ran, outcome, rehearsed), uncured)
    return ran


def _with_report(
    plan: SavedPlan | None, remembered: Sequence[Remembered]
) -> SavedPlan | None:
    """The plan of an earlier run that was used, with the report that it came from."""
    if plan is None:
        return None
    job = (plan.where, plan.made_for)
    plans = (each.plan for each in remembered)
    return next((each for each in plans if (each.where, each.made_for) == job), None)


def _to_remember(
    ran: Ran, outcome: Outcome, rehearsed: ahead.Rehearsed
) -> list[Remembered]:
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


def _ran(
    order: Order,
    signals: Signals,
    held: tuple[int, ...],
    stdin: Any = None,
) -> tuple[Outcome, int]:
    """The run that counts. Where feedline cannot be beside it, it runs without."""
    try:
        with ahead.given(stdin) as streams:
            return run_child(order, signals, Running(held), streams)
    except CannotStart as error:
        _say(f"your script runs without feedline, which could not start it: {error}")
        return Outcome(loops=1), run_plain(order.target, order.module, signals)


def _came_to(order: Order, outcome: Outcome, code: int, known: Report | None) -> Ran:
    """`known` is the report of the plan that was given."""
    report, outcome = _judged(outcome)
    if outcome.refused:
        _raise_refusal(outcome)
    if outcome.failed:
        last = outcome.failed.strip().splitlines()[-1]
        _say(f"measuring failed; this is a bug in feedline: {one_sentence(last)}")
    if code < 0:
        if code != -signal.SIGINT:
            _say(f"the script was killed by {signal.Signals(-code).name}")
        code = 128 - code
    plan = outcome.plan
    if report is not None and plan is not None:
        plan = replace(plan, report=json.loads(report.to_json()))
    elif plan is not None:
        report = known
    elif code == 0 and not outcome.loops and not outcome.rehearsed:
        seen = _nothing_seen(order.target[0], order.loop, outcome)
        _say(seen.splitlines()[0])
    if report is not None:
        report = with_training(report, outcome.trained)
    after = report.after if report is not None else None
    saved_s = after.saved_s if after is not None and after.saved_s else 0.0
    if report is not None and report.validation is not None:
        saved_s += report.validation.saved_s or 0.0
    measured_s = outcome.trained.measuring_s
    said = "" if max(measured_s, saved_s) < 1 else balance(measured_s, saved_s)
    return Ran(code, report, plan, outcome.applied, said)


def _judged(outcome: Outcome) -> tuple[Report | None, Outcome]:
    """The report of what was measured. Where judging fails, the outcome says so: how
    the script ended stays what it was."""
    if outcome.basis is None:
        return None, outcome
    try:
        return judge(outcome.basis), outcome
    except Exception:
        return None, structs.replace(outcome, failed=traceback.format_exc())


def _report_of(
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


def _need_tensorflow() -> None:
    if importlib.util.find_spec("tensorflow") is None:
        raise TensorFlowMissing


def _raise_refusal(outcome: Outcome) -> None:
    if outcome.refused:
        error = FeedlineError(outcome.refused)
        error.exit_code = outcome.exit_code
        raise error


def _nothing_seen(script: str, loop: int | None, outcome: Outcome) -> str:
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


def _say(text: str) -> None:
    """Nowhere, if there is no standard error, or it is full."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            print(f"feedline: {text}", file=sys.stderr, flush=True)


def tune(
    dataset: Any,
    model: Any = None,
    allow: Sequence[str] = ("exact",),
    seconds: float = 30.0,
) -> Any:
    """The same dataset, made faster: the same elements in the same order, unless
    `allow` has "reordered" or "numeric" in it.

    With its compiled `model` the training step is measured too, and what helps
    there is put into the model. Every change is measured; what is not faster is
    not made. A dataset that was tuned already comes back as it is, and one that
    cannot be read twice, with a warning.

    >>> dataset = feedline.tune(dataset, model=model)
    >>> model.fit(dataset)
    """
    _need_tensorflow()
    allowed = grades((allow,) if isinstance(allow, str) else allow)
    from feedline.session import tuning

    return tuning.tune(dataset, model, allowed, seconds)


def why(model: Any, dataset: Any, *, seconds: float = 60.0) -> Report:
    """Say why training this compiled Keras model on this dataset is slow.

    Trains it for some steps and puts every variable back as it was. The dataset
    is read through a copy where it can be read twice, so that its own shuffling
    goes on as if nothing had happened.

    >>> report = feedline.why(model, dataset)
    >>> report.show()
    """
    _need_tensorflow()
    from feedline.session.inprocess import examine_model

    return examine_model(model, dataset, seconds)
