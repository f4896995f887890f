"""All checks, in order, stopping at the first that fails.

    python tests/run.py [PYTEST ARGS]

Lint, format, strict types, the import rule and the documentation come first:
they take seconds. Then come the tests, two at a time, without the slow tier: every
planted job, every example and every kind of loop, measured to the end, and whatever
else measures. `tests/run.py -m slow` runs that, one by one.

A worker that has nothing left takes tests over from the other, also out of the same
file: the few that start whole trainings would else keep one core idle at the end.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEFAULT = ["-n", "2", "--dist", "worksteal", "-m", "not slow"]


def checks(pytest_args: list[str], site: str) -> list[tuple[str, list[str]]]:
    python = [sys.executable, "-m"]
    bin_dir = Path(sys.executable).parent
    # Whoever chooses a tier may choose the slow one, which has the machine to itself.
    chosen = any(argument.startswith("-m") for argument in pytest_args)
    tests = [*([] if chosen else DEFAULT), *pytest_args]
    return [
        ("lint", [*python, "ruff", "check", "."]),
        ("format", [*python, "ruff", "format", "--check", "."]),
        ("types", [*python, "mypy"]),
        ("imports", [str(bin_dir / "lint-imports")]),
        ("docs", [*python, "mkdocs", "build", "--strict", "--quiet", "-d", site]),
        ("tests", [*python, "pytest", *tests]),
    ]


def main() -> int:
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"}
    with tempfile.TemporaryDirectory() as site:
        for name, command in checks(sys.argv[1:], site):
            print(f"== {name}", flush=True)
            code = subprocess.run(command, cwd=ROOT, env=environment).returncode
            if code:
                print(f"== {name} failed with code {code}", flush=True)
                return code if code > 0 else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
