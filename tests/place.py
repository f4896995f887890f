"""A place to run scripts in, as a user would: under Python and under feedline."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import feedline

IMPORTS = """\
import os, signal, sys, threading, time
"""
_PACKAGE = Path(feedline.__file__).parent
# Only what hangs takes so long, on however busy a machine. Below pytest's own limit.
LIMIT = 500.0

# TensorFlow's and absl's log: it has the time and the number of the process in it,
# and what it says depends on the processor.
_LOG = re.compile(
    r"[IWEF]\d{4} [\d:.]+ +\d+ \S+:\d+\] "
    r"|\d{4}-\d\d-\d\d [\d:.]+: [IWEF] \S+:\d+\] "
    r"|WARNING: All log messages before absl::InitializeLog\(\) is called"
    r"|To enable the following instructions: "
)


def without_log(text: str) -> str:
    """What a process wrote to standard error, without TensorFlow's own log."""
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not _LOG.match(line))


def our_lines(text: str) -> list[str]:
    """The lines that name a file of feedline's own, as a traceback does. The folder
    that it lies in may be called feedline too."""
    ours = [f"{folder}{os.sep}" for folder in (_PACKAGE, _PACKAGE.resolve())]
    return [line for line in text.splitlines() if any(name in line for name in ours)]


def wait_until(happened: Callable[[], object], seconds: float = LIMIT) -> bool:
    """Whether it did; looks again and again."""
    until = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def gone(pid: int) -> bool:
    """Has this process ended? One that nobody has waited for is still listed."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] in "ZX"


class Place:
    """A folder to run scripts in, and one for temporary files. `left` are the
    files that were not there before."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.temp = root / "temp"
        self.temp.mkdir()
        self.script = root / "train.py"
        self.started: list[subprocess.Popen[str]] = []

    def write(self, *parts: str) -> None:
        text = "".join(textwrap.dedent(part) for part in (IMPORTS, *parts))
        self.script.write_text(text, "utf-8")

    def start(self, *command: str, **options) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, *command],
            cwd=self.root,
            env={
                **os.environ,
                "TMPDIR": str(self.temp),
                "TF_CPP_MIN_LOG_LEVEL": "3",
                "PYTHONIOENCODING": "utf-8",
            },
            text=True,
            encoding="utf-8",
            start_new_session=True,
            **{
                "stdin": subprocess.DEVNULL,
                "stdout": subprocess.PIPE,
                "stderr": subprocess.PIPE,
                **options,
            },
        )
        self.started.append(process)
        return process

    def close(self) -> None:
        for process in self.started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            with process:
                pass

    def run(self, *command: str, **options) -> subprocess.CompletedProcess[str]:
        process = self.start(*command, **options)
        out, err = process.communicate(timeout=LIMIT)
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def python(self) -> subprocess.CompletedProcess[str]:
        return self.run("train.py")

    def why(self, *options: str, **more) -> subprocess.CompletedProcess[str]:
        return self.run("-m", "feedline", "why", *options, "train.py", **more)

    def left(self) -> list[str]:
        known = {self.script, self.temp}
        return sorted(
            str(path.relative_to(self.root))
            for path in self.root.rglob("*")
            if path not in known and "__pycache__" not in path.parts
        )
