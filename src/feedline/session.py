"""The road walked once: `why_script` and `run_script` for the commands, `why` and
`tune` for Python.

The command's script runs in a process of its own (`child.py`), which writes
what it found into a file; this side starts it, waits, and reads that file. So
a script that is killed, hangs on to the terminal or exits by itself leaves
feedline in a state to say so.
"""

from __future__ import annotations

import importlib.util
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

from feedline.errors import FeedlineError, NoTrainingLoop, TensorFlowMissing
from feedline.fixes.fix import grades
from feedline.fixes.saved import SavedPlan
from feedline.job.capture import check
from feedline.report.json import from_json
from feedline.report.report import Report
from feedline.report.tidy import tidy


class MeasuringFailed(FeedlineError):
    """feedline itself failed; the script is not to blame."""

    exit_code = 1


def why_script(
    target: list[str], module: bool, seconds: float, loop: int | None
) -> tuple[Report | None, int]:
    """Measure a script. The report, or None and the exit code of a script that
    failed by itself."""
    check(target, module=module)
    if importlib.util.find_spec("tensorflow") is None:
        raise TensorFlowMissing
    outcome, code = _start(target, module, seconds, loop, patient=True)
    if "report" not in outcome and code == 0 and outcome.get("short"):
        # The training was too short to be measured in passing: run it once more
        # and stop early in the longest of its loops.
        chosen = int(outcome["short"])
        _say("its training is short; running it again to measure it early on")
        outcome, code = _start(target, module, seconds, chosen, patient=False)
    if "report" in outcome:
        return from_json(json.dumps(outcome["report"])), 0
    if "refused" in outcome:
        raise FeedlineError(outcome["refused"])
    if "failed" in outcome:
        raise MeasuringFailed(
            f"measuring failed, which is a fault of feedline, not of the script:\n"
            f"{outcome['failed']}"
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
        _say(f"the script ended by itself with exit code {code}; nothing was measured")
        return None, code
    raise NoTrainingLoop(_nothing_seen(target[0], loop, outcome))


@dataclass(frozen=True)
class Ran:
    """How `feedline run` went. `report` is None where nothing was measured."""

    code: int
    report: Report | None = None
    plan: SavedPlan | None = None
    applied: bool = False


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
) -> Ran:
    """Run a script to its end with the fixes that are allowed; `dry` stops it when
    they are known, `live` shows how the training goes on."""
    check(target, module=module)
    if plan is not None:
        plan.check_grades(grades(allow))
    if importlib.util.find_spec("tensorflow") is None:
        raise TensorFlowMissing
    order = {
        "mode": "run",
        "target": target,
        "module": module,
        "seconds": seconds,
        "loop": loop,
        "patient": True,
        "allow": [*grades(allow)],
        "plan": plan.to_dict() if plan else None,
        "rehearse": rehearse or dry,
        "live": live,
    }
    outcome, code = _run(order)
    if "failed" in outcome:
        last = outcome["failed"].strip().splitlines()[-1]
        _say(f"measuring failed, which is a fault of feedline's: {last}")
    if "rehearsed" in outcome and dry:
        outcome["plan"] = outcome["rehearsed"]
    elif "rehearsed" in outcome:
        rehearsed = SavedPlan.from_dict(outcome["rehearsed"])
        _say("starting the script again from clean, with what was found")
        outcome, code = _run({**order, "plan": rehearsed.to_dict(), "rehearse": False})
    if "refused" in outcome:
        raise FeedlineError(outcome["refused"])
    if code < 0:
        _say(f"the script was killed by {signal.Signals(-code).name}")
        code = 128 - code
    saved = outcome.get("plan")
    made = SavedPlan.from_dict(saved) if saved else None
    report = None
    if made is not None and made.report is not None:
        report = _with_training(from_json(json.dumps(made.report)), outcome)
    elif code == 0 and not outcome.get("loops") and "rehearsed" not in outcome:
        seen = _nothing_seen(target[0], loop, outcome)
        raise NoTrainingLoop(f"{seen}\nThe script ran to its end as it is.")
    return Ran(code, report, made, bool(outcome.get("applied")))


def _with_training(report: Report, outcome: dict[str, Any]) -> Report:
    """What the training with the fixes took, and what it would have taken."""
    after, steps = report.after, int(outcome.get("steps", 0))
    if after is None:
        return report
    seconds = float(outcome.get("training_s", 0.0))
    before = after.before_ms or after.observed_ms * after.speedup
    return replace(
        report,
        after=replace(
            after,
            steps=steps or None,
            seconds=tidy(seconds) if steps else None,
            saved_s=tidy(steps * before / 1e3 - seconds) if steps else None,
            measuring_s=tidy(float(outcome.get("measuring_s", 0.0))),
        ),
    )


def _run(order: dict[str, Any]) -> tuple[dict[str, Any], int]:
    with tempfile.TemporaryDirectory(prefix="feedline-") as folder:
        path = Path(folder) / "outcome.json"
        code = _wait(_child({**order, "outcome": str(path)}), path, patient=True)
        for name in (path, path.with_suffix(".plan")):
            with suppress(OSError, ValueError):
                found = json.loads(name.read_text())
                return (found if name is path else {"plan": found}), code
        return {}, code


# The folder of the script, not ours nor the current one, comes first on its path.
_PROGRAM = (
    "import sys; sys.path[0] or sys.path.pop(0); sys.path.insert(0, sys.argv.pop()); "
    "import feedline.child; sys.path.pop(0); feedline.child.main()"
)
_GRACE_SECONDS = 40.0


def _start(
    target: list[str],
    module: bool,
    seconds: float,
    loop: int | None,
    *,
    patient: bool,
) -> tuple[dict[str, Any], int]:
    with tempfile.TemporaryDirectory(prefix="feedline-") as folder:
        path = Path(folder) / "outcome.json"
        order = {
            "target": target,
            "module": module,
            "seconds": seconds,
            "loop": loop,
            "patient": patient,
            "outcome": str(path),
        }
        code = _wait(_child(order), path)
        try:
            return json.loads(path.read_text()), code
        except (OSError, ValueError):
            return {}, code


def _child(order: dict[str, Any]) -> subprocess.Popen[bytes]:
    home = Path(__file__).parent.parent
    command = [sys.executable, "-c", _PROGRAM, json.dumps(order), str(home)]
    return subprocess.Popen(command)


def _wait(
    process: subprocess.Popen[bytes], outcome: Path, *, patient: bool = False
) -> int:
    """The script's exit code. Whoever ends us ends the script too: Ctrl-C reaches
    it by itself, other signals are passed on. Once the outcome is known it has a
    little time to clean up, unless we are `patient`: then it is its own master."""
    with _signals_passed_on(process) as ending:
        known = None
        try:
            while True:
                with suppress(subprocess.TimeoutExpired):
                    return process.wait(timeout=0.5)
                if ending or (outcome.exists() and not patient):
                    known = known or time.monotonic()
                if known and time.monotonic() > known + _GRACE_SECONDS:
                    process.kill()
        except KeyboardInterrupt:
            _interrupted(process)
            raise


@contextmanager
def _signals_passed_on(process: subprocess.Popen[bytes]) -> Iterator[list[int]]:
    """Fills the list with the signals that want us to end."""
    received: list[int] = []

    def pass_on(number: int, _: FrameType | None) -> None:
        received.append(number)
        process.send_signal(number)

    before = {}
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, signal.SIGTERM)  # Windows lacks the second
        with suppress(ValueError):  # not in the main thread
            if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
                before[number] = signal.signal(number, pass_on)
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupted(process: subprocess.Popen[bytes]) -> None:
    """Let the script end after Ctrl-C; a second one does not wait."""
    try:
        process.wait(timeout=10)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.kill()
        process.wait()


def _nothing_seen(script: str, loop: int | None, outcome: dict[str, Any]) -> str:
    wanted = "no training loop was found" if loop is None else f"no loop number {loop}"
    lines = [f"{script} ended and {wanted}, or none that lasts."]
    if not outcome.get("tensorflow", True):
        lines.append("It never imported TensorFlow.")
    lines += [f"Seen: {what}" for what in outcome.get("seen", ())]
    lines.append(
        "feedline measures Model.fit and loops that take gradients over a "
        "tf.data.Dataset."
    )
    return "\n".join(lines)


def _say(text: str) -> None:
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
    if importlib.util.find_spec("tensorflow") is None:
        raise TensorFlowMissing
    allowed = grades((allow,) if isinstance(allow, str) else allow)
    from feedline import tuning

    return tuning.tune(dataset, model, allowed, seconds)


def why(model: Any, dataset: Any, *, seconds: float = 60.0) -> Report:
    """Say why training this compiled Keras model on this dataset is slow.

    Trains it for some steps and puts every variable back as it was. The dataset
    is read through a copy where it can be read twice, so that its own shuffling
    goes on as if nothing had happened.

    >>> report = feedline.why(model, dataset)
    >>> report.show()
    """
    if importlib.util.find_spec("tensorflow") is None:
        raise TensorFlowMissing
    from feedline.inprocess import examine_model

    return examine_model(model, dataset, seconds)
