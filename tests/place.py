"""A place to run scripts in, as a user would: under Python and under feedline."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

IMPORTS = """\
import os, signal, sys, threading, time
"""


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
        self.script.write_text(text)

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
        out, err = process.communicate(timeout=240)
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
