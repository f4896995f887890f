"""Runs `feedline` as a user does: in a process of its own, or, where nothing depends
on that, in this one, which takes no time."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from feedline.cli import main
from feedline.session import parent
from tests.place import LIMIT

# `session.parent` runs scripts; where a test is about the command line alone, a module
# of the same name takes its place. A program that starts so goes on to set
# `session.why_script` and to call `main()`.
WITH_FAKE_SESSION = (
    "import sys, types\n"
    "session = types.ModuleType('feedline.session.parent')\n"
    "sys.modules['feedline.session.parent'] = session\n"
    "import feedline.session\n"
    "feedline.session.parent = session\n"
    "from feedline.cli.main import main\n"
)


class Done(NamedTuple):
    stdout: str
    stderr: str
    returncode: int


def run(command: list[str], **options) -> subprocess.CompletedProcess[str]:
    environment = {
        **{name: value for name, value in os.environ.items() if "COLOR" not in name},
        "COLUMNS": "80",
        "PYTHONIOENCODING": "utf-8",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    if "input" not in options:
        options["stdin"] = subprocess.DEVNULL
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=LIMIT,
        env=environment,
        **options,
    )


def feedline(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    """`feedline ...` in a process of its own."""
    return run([sys.executable, "-m", "feedline", *arguments], **options)


def here(*arguments: str, cwd: Path | None = None) -> Done:
    """`feedline ...` in this process: what it prints, and its exit code."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    code = 0
    with pytest.MonkeyPatch.context() as patch:
        if cwd is not None:
            patch.chdir(cwd)
        for name in [name for name in os.environ if "COLOR" in name]:
            patch.delenv(name)
        patch.setenv("COLUMNS", "80")
        patch.setattr(sys, "argv", ["feedline", *arguments])
        with redirect_stdout(out), redirect_stderr(err):
            try:
                main.main()
            except SystemExit as end:
                code = int(end.code or 0)
    return Done(*map(_text, (out, err)), code)


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return stream.buffer.getvalue().decode("utf-8")


def with_session(*arguments: str, cwd: Path | None = None, **functions: Any) -> Done:
    """The same, with these functions in the place of those of `session.parent`, which
    run scripts: for tests of the command line alone."""
    with pytest.MonkeyPatch.context() as patch:
        for name, function in functions.items():
            patch.setattr(parent, name, function)
        return here(*arguments, cwd=cwd)
