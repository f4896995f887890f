"""The road walked once: `why_script` for the command, `why` for Python.

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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from feedline.errors import FeedlineError, NoTrainingLoop, TensorFlowMissing
from feedline.job.capture import check
from feedline.report.json import from_json
from feedline.report.report import Report


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
    if "report" not in outcome and code == 0 and loop is None and outcome.get("short"):
        # The only training was too short to be measured in passing: run it once
        # more and stop at the longest of its loops.
        chosen = int(outcome["short"])
        _say("its longest training loop is short; running it again to measure it")
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
        _say(f"the script was killed by {name} before its training could be measured")
        return None, 128 - code
    if code > 0:
        _say(f"the script ended by itself with exit code {code}; nothing was measured")
        return None, code
    raise NoTrainingLoop(_nothing_seen(target[0], outcome))


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
        command = [sys.executable, "-m", "feedline.child", json.dumps(order)]
        process = subprocess.Popen(command)
        with _passing_on_signals(process):
            try:
                code = process.wait()
            except KeyboardInterrupt:
                _end(process)
                raise
        try:
            return json.loads(path.read_text()), code
        except (OSError, ValueError):
            return {}, code


@contextmanager
def _passing_on_signals(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Whoever ends us ends the script too. Ctrl-C reaches both by itself."""

    def pass_on(number: int, _: FrameType | None) -> None:
        process.send_signal(number)

    try:
        before = signal.signal(signal.SIGTERM, pass_on)
    except ValueError:  # not in the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _nothing_seen(script: str, outcome: dict[str, Any]) -> str:
    seen = outcome.get("seen") or []
    lines = [f"{script} ended and no training loop was found."]
    if outcome and not outcome.get("tensorflow", True):
        lines.append("It never imported TensorFlow.")
    lines += [f"Seen: {what}" for what in seen]
    lines.append(
        "feedline measures Model.fit and loops that take gradients over a "
        "tf.data.Dataset; give --loop N if the Nth of several is meant."
    )
    return "\n".join(lines)


def _say(text: str) -> None:
    print(f"feedline: {text}", file=sys.stderr, flush=True)


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
