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
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
        home = Path(__file__).parent.parent
        command = [sys.executable, "-c", _PROGRAM, json.dumps(order), str(home)]
        code = _wait(subprocess.Popen(command), path)
        try:
            return json.loads(path.read_text()), code
        except (OSError, ValueError):
            return {}, code


def _wait(process: subprocess.Popen[bytes], outcome: Path) -> int:
    """The script's exit code. Whoever ends us ends the script too: Ctrl-C reaches
    it by itself, other signals are passed on. Once the outcome is known it has a
    little time to clean up."""
    with _signals_passed_on(process) as ending:
        known = None
        while True:
            try:
                return process.wait(timeout=0.5)
            except subprocess.TimeoutExpired:
                if ending or outcome.exists():
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
