"""How long an epoch of a training script takes, timed from outside.

Not a benchmark by itself: fixes.py and vocabulary.py use it. A script is run as a user
runs it, in a process of its own, and says a line whenever an epoch is over; the time
between two of these lines is an epoch, with all that belongs to it. So the script as it
is, with feedline, with feedline's patch and tuned by hand are timed by one and the same
clock, which none of them knows of.

The first epoch (tracing, full caches) does not count. The scripts are copied first,
with so many epochs that they can be stopped once enough were seen, and with less data
where an epoch would take a minute.
"""

from __future__ import annotations

import ast
import json
import os
import queue
import re
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

EPOCHS = 400
EPOCHS_SAID = re.compile(r"\bepochs=\d+|(?<=for epoch in )range\(\d+\)")
LESS = {
    "conv_slow_map": {"IMAGES = 10_000": "IMAGES = 2_000"},
    "embedding_batch32": {"SENTENCES = 200_000": "SENTENCES = 64_000"},
    "embedding_large_vocabulary": {"SENTENCES = 25_600": "SENTENCES = 5_120"},
    "embedding_mirrored": {"SENTENCES = 64_000": "SENTENCES = 16_000"},
    "fine_grained_ops": {"EXAMPLES = 40_000": "EXAMPLES = 4_000"},
    "word2vec_skipgram": {"tokens=200_000": "tokens=20_000"},
}
HELPERS = {"make_data.py", "lazy_adam.py"}
OVER = re.compile(r"(\d+)/\d+ - |epoch \d+: ")  # by Keras, or by the script itself


class Failed(Exception):
    """A script gave no epochs; the message says why."""


@dataclass(frozen=True)
class Enough:
    """When to stop: after so many epochs and seconds, or long enough in any case."""

    epochs: int = 3
    seconds: float = 4.0
    at_most: float = 20.0

    def reached(self, took: list[float]) -> bool:
        seconds = sum(took)
        if took and seconds >= self.at_most:
            return True
        return len(took) >= self.epochs and seconds >= self.seconds


@dataclass
class Race:
    """The versions of one script, each a command, take turns, whole processes each."""

    name: str
    folder: Path
    enough: Enough
    limit: float = 180.0  # seconds, of a process
    commands: dict[str, list[str]] = field(default_factory=dict)
    seconds: dict[str, list[float | None]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    steps: int | None = None  # of an epoch

    def add(self, version: str, *command: str) -> None:
        self.commands[version] = [sys.executable, *command]

    def run(self, rounds: int, only: set[str] | None = None) -> None:
        for _ in range(rounds):
            number = 1 + max(map(len, self.seconds.values()), default=0)
            turn = list(self.commands)
            for version in turn if number % 2 else reversed(turn):
                skipped = only is not None and version not in only
                took = None if skipped else self._epoch(version)
                found = self.seconds.setdefault(version, [None] * (number - 1))
                found.append(took)

    def _epoch(self, version: str) -> float | None:
        say(f"{self.name}: {version}")
        try:
            said = self.folder / "said"
            found = epochs(self.commands[version], said, self.enough, self.limit)
            self.steps = self.steps or steps(said)
        except Failed as failed:
            say(f"{self.name}: {version} failed: {failed}")
            self.failed[version] = str(failed)
            return None
        return statistics.fmean(found)

    def median(self, version: str) -> float | None:
        found = [each for each in self.seconds.get(version, ()) if each is not None]
        return statistics.median(found) if found else None

    def ratios(self, one: str, other: str) -> list[float]:
        """Round by round."""
        pairs = zip(
            self.seconds.get(one, ()), self.seconds.get(other, ()), strict=False
        )
        return [a / b for a, b in pairs if a is not None and b is not None]


def copy(script: Path, folder: Path, changed: dict[str, str] | None = None) -> Path:
    """The script in that folder, with many epochs and with these changes. Lines stay
    where they are."""
    text = script.read_text()
    folder.mkdir(parents=True, exist_ok=True)
    for helper in HELPERS & {path.name for path in script.parent.iterdir()}:
        shutil.copy(script.parent / helper, folder)
    for before, after in (changed or {}).items():
        if before not in text:
            raise SystemExit(f"{script} has no {before!r} to change")
        text = text.replace(before, after)
    text, found = EPOCHS_SAID.subn(_more, text)
    if found != 1:
        raise SystemExit(f"{script}: {found} places say the number of epochs, not one")
    target = folder / script.name
    target.write_text(text)
    return target


def _more(said: re.Match[str]) -> str:
    return f"range({EPOCHS})" if "range" in said[0] else f"epochs={EPOCHS}"


def epochs(
    command: list[str], said: Path, enough: Enough, limit: float = 180.0
) -> list[float]:
    """Seconds of each epoch after the first, until there are enough; then the process
    is ended. What it says goes to a file."""
    until = time.monotonic() + limit
    stamps: queue.Queue[float | None] = queue.Queue()
    with open(said, "w") as log, started(command, log) as process:
        reader = threading.Thread(target=_read, args=(process, log, stamps))
        reader.start()
        took: list[float] = []
        last = None
        try:
            while not enough.reached(took):
                stamp = stamps.get(timeout=max(0.0, until - time.monotonic()))
                if stamp is None:
                    break
                if last is not None:
                    took.append(stamp - last)
                last = stamp
        except queue.Empty:
            pass
        finally:
            end(process)
            reader.join()
    if not took:
        raise Failed(reason(said.read_text(errors="replace"), process.returncode))
    return took


def steps(said: Path) -> int | None:
    """How many steps an epoch had, where Keras said so."""
    for line in reversed(said.read_text(errors="replace").splitlines()):
        found = OVER.match(line)
        if found and found[1]:
            return int(found[1])
    return None


def finish(command: list[str], said: Path, limit: float) -> int | None:
    """The exit code; None where it took too long. Nothing is left running."""
    with open(said, "w") as log, started(command, log, log) as process:
        try:
            return process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            return None


def _read(process: subprocess.Popen, log, stamps: queue.Queue) -> None:
    with process.stdout as lines:
        for line in lines:
            if OVER.match(line):
                stamps.put(time.perf_counter())
            log.write(line)
            log.flush()
    stamps.put(None)


@contextmanager
def started(
    command: list[str], log, output=subprocess.PIPE
) -> Iterator[subprocess.Popen]:
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=log,
        text=True,
        env=environment(),
        start_new_session=True,
    )
    try:
        yield process
    finally:
        end(process)


def end(process: subprocess.Popen) -> None:
    """It and all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def environment() -> dict[str, str]:
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONUNBUFFERED": "1", "COLUMNS": "80"}
    return {**os.environ, **quiet}


def plan(
    script: Path, place: Path, grades: str, seconds: float, *more: str
) -> tuple[dict, list[str]]:
    """What `feedline run --dry-run` reports of the script, and how to run it with the
    plan that it made there."""
    report, said = place.with_suffix(".json"), place.with_suffix(".said")
    feedline = ["-m", "feedline", "run", "--allow", grades, "--plan", str(place)]
    command = [*feedline, "--dry-run", "--seconds", f"{seconds:g}", *more]
    command += ["--json", str(report), str(script)]
    # On a busy machine it takes several times what it is given, and the script has
    # to be started and its data made.
    finish([sys.executable, *command], said, 6 * seconds + 300)
    if not report.exists():
        raise Failed(reason(said.read_text(errors="replace"), 0))
    return json.loads(report.read_text()), [*feedline, str(script)]


def patched(script: Path, patch: Path, folder: Path) -> Path | None:
    """The script with the patch applied by git, in a folder that is not there yet;
    None where the patch holds nothing but comments."""
    shutil.copytree(script.parent, folder)
    target = folder / script.name
    command = ["git", "apply", str(patch)]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Failed(f"git apply: {done.stderr.strip()}")
    return target if _code(target) != _code(script) else None


def _code(script: Path) -> str:
    return ast.unparse(ast.parse(script.read_text()))


def reason(said: str, returncode: int | None) -> str:
    """Why there is nothing, in a line: what feedline said last, else the script."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    ours = [line for line in lines if line.startswith("feedline: ")]
    last = (ours or lines or ["it said nothing"])[-1].removeprefix("feedline: ")
    if returncode in (None, -signal.SIGKILL):
        return f"took too long; {last}"
    return f"exit code {returncode}; {last}"


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)
