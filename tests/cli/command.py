"""Runs `feedline` in a process of its own, as a user does."""

from __future__ import annotations

import os
import subprocess
import sys

# `session` runs scripts; where a test is about the command line alone, a module
# of the same name takes its place. A program that starts so goes on to set
# `session.why_script` and to call `main()`.
WITH_FAKE_SESSION = (
    "import sys, types\n"
    "session = types.ModuleType('feedline.session')\n"
    "sys.modules['feedline.session'] = session\n"
    "import feedline\n"
    "feedline.session = session\n"
    "from feedline.cli.main import main\n"
)


def run(command: list[str], **options) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
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
        timeout=120,
        env=environment,
        **options,
    )


def feedline(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    return run([sys.executable, "-m", "feedline", *arguments], **options)


def with_session(
    body: str, *arguments: str, **options
) -> subprocess.CompletedProcess[str]:
    """`feedline` with `def why_script(target, module, seconds, loop): BODY`."""
    program = (
        WITH_FAKE_SESSION
        + "from tests.report.samples import sample\n"
        + "from feedline.errors import *\n"
        + "def why_script(target, module, seconds, loop):\n"
        + "".join(f"    {line}\n" for line in body.splitlines())
        + "session.why_script = why_script\n"
        + "main()\n"
    )
    return run([sys.executable, "-c", program, *arguments], **options)
