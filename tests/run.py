"""All checks, in order, stopping at the first that fails.

    python tests/run.py [PYTEST ARGS]

Lint, format, strict types, the import rule and the documentation come first:
they take seconds. Then come the tests, two at a time, and last those that measure,
one by one. Without arguments the slow tier is left out: every planted job, every
example and every kind of loop, measured to the end. `tests/run.py -m slow` runs
that, one by one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEFAULT = {
    "tests": ["-n", "2", "--dist", "loadfile", "-m", "not slow and not alone"],
    "tests that measure": ["-m", "alone and not slow"],
}


def checks(pytest_args: list[str], site: str) -> list[tuple[str, list[str]]]:
    python = [sys.executable, "-m"]
    bin_dir = Path(sys.executable).parent
    tests = {"tests": pytest_args} if pytest_args else DEFAULT
    return [
        ("lint", [*python, "ruff", "check", "."]),
        ("format", [*python, "ruff", "format", "--check", "."]),
        ("types", [*python, "mypy"]),
        ("imports", [str(bin_dir / "lint-imports")]),
        ("docs", [*python, "mkdocs", "build", "--strict", "--quiet", "-d", site]),
        *((name, [*python, "pytest", *args]) for name, args in tests.items()),
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
