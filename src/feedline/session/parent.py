"""The road walked once: `why_script` and `run_script` for the commands, `why` and
`tune` for Python.

The command's script runs in a process of its own (`child.py`), which measures and
sends job, measurement and proof; this side starts it, waits, and judges (`judge.py`).
So a script that is killed, hangs on to the terminal or exits by itself leaves feedline
in a state to say so.
"""

from __future__ import annotations

import importlib.util
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from msgspec import structs

from feedline.errors import (
    FeedlineError,
    NoTrainingLoop,
    TensorFlowMissing,
)
from feedline.fixes.fix import grades
from feedline.fixes.saved import SavedPlan
from feedline.job.script.run import check
from feedline.process.signals import Signals
from feedline.report.report import Report
from feedline.session.children import (
    CannotStart,
    Measuring,
    Running,
    run_child,
    run_plain,
)
from feedline.session.messages import Order, Outcome
from feedline.session.plans.memory import LastRun, Memory, without_report
from feedline.session.ran import (
    Ran,
    came_to,
    judged,
    nothing_seen,
    of_earlier_run,
    raise_refusal,
    report_of,
    to_remember,
)
from feedline.session.rehearsal import ahead, needed


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
    report, outcome = judged(outcome)
    if report is not None:
        return report, 0
    raise_refusal(outcome)
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
    raise NoTrainingLoop(nothing_seen(target[0], loop, outcome))


def _examined(order: Order, signals: Signals) -> tuple[Outcome, int]:
    manner = Measuring()
    try:
        outcome, code = run_child(order, signals, manner)
    except CannotStart as error:
        raise FeedlineError(f"the script cannot be started: {error}") from None
    if manner.interrupted:
        raise KeyboardInterrupt
    return outcome, code


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
    known = report_of(plan)
    _need_tensorflow()
    memory = Memory(target, grades(allow), module=module)
    use_memory = plan is None and loop is None and not dry
    recall = use_memory and not (fresh or rehearse)
    remembered = memory.recall() if recall else ()
    uncured = memory.uncured() if recall else None
    last = memory.last_run() if recall else LastRun()
    order = Order(
        "run",
        tuple(target),
        module,
        seconds,
        loop,
        allow=tuple(grades(allow)),
        plan=None if plan is None else replace(plan, report=None),
        remembered=tuple(without_report(each) for each in remembered),
        trained_s=last.trained_s,
        too_short=last.too_short,
        live=live,
        given=given,
    )
    with Signals() as signals:
        if dry:
            order = structs.replace(order, mode="rehearse", everything=True)
            outcome, code = _ran(order, signals, ())
            if outcome.why_not and outcome.rehearsed:
                _say(f"no fix was found: {outcome.why_not}")
            return came_to(order, outcome, code, known, _say)
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
        known = report_of(
            of_earlier_run(outcome.plan, remembered), damaged_is_none=True
        )
    ran = came_to(order, outcome, code, known, _say)
    if use_memory:
        # Rehearsed once, it is not rehearsed again.
        uncured = None if rehearsed.seconds else outcome.uncured
        learned = to_remember(ran, outcome, rehearsed)
        now = LastRun(outcome.trained_s, outcome.too_short)
        memory.remember(learned, uncured, now)
    return ran


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


def _need_tensorflow() -> None:
    if importlib.util.find_spec("tensorflow") is None:
        raise TensorFlowMissing


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
