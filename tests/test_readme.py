"""What README.md says can be done, as far as it can be checked without doing it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import run
from tests.place import LIMIT

ROOT = Path(__file__).resolve().parent.parent
CI = ROOT / ".ci" / "run"


def test_ci_runs_the_test_command_of_the_readme():
    command = CI.read_text("utf-8").splitlines()[-1]
    assert command.endswith("tests/run.py")
    assert command in (ROOT / "README.md").read_text("utf-8").splitlines()


def test_ci_has_the_browser_that_the_page_is_tested_in():
    script = CI.read_text("utf-8")
    assert "missing+=(chromium)" in script
    assert "FEEDLINE_BROWSER=required" in script


def git(*arguments: str, folder: Path) -> None:
    name = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
    nobodys = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(
        ["git", *name, *arguments],
        cwd=folder,
        env={**os.environ, **nobodys},
        check=True,
    )


PYTHON = """\
#!/bin/sh
# Stands for the Python that is installed, and for that of the environment.
case "$*" in
    "-m venv .venv") mkdir -p .venv/bin && cp "$0" .venv/bin/python
                     printf '#!/bin/sh\\n' > .venv/bin/pip && chmod +x .venv/bin/pip ;;
    tests/run.py) cat tests/run.py; pwd; echo "$FEEDLINE_BROWSER"; exit 7 ;;
esac
"""


@pytest.mark.skipif(os.name == "nt", reason="a shell script")
def test_ci_runs_it_in_a_clone_called_feedline_and_leaves_nothing(tmp_path):
    """Wherever the checkout lies, and with the exit code of the tests."""
    checkout, programs, temp = (
        tmp_path / name for name in ("Übung mit Leerzeichen", "bin", "temp")
    )
    for folder in (checkout / ".ci", checkout / "tests", programs, temp):
        folder.mkdir(parents=True)
    (checkout / ".ci" / "run").write_bytes(CI.read_bytes())
    (checkout / "tests" / "run.py").write_text("as committed\n", "utf-8")
    git("init", "-q", folder=checkout)
    git("add", ".", folder=checkout)
    git("commit", "-q", "-m", "all", folder=checkout)
    (checkout / "tests" / "run.py").write_text("not committed\n", "utf-8")
    for name in ("python3", "chromium", "sudo", "apt-get"):
        (programs / name).write_text(PYTHON, "utf-8")
        (programs / name).chmod(0o755)
    done = subprocess.run(
        ["bash", str(checkout / ".ci" / "run")],
        cwd=tmp_path,
        env={
            **os.environ,
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "TMPDIR": str(temp),
        },
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=LIMIT,
    )
    assert done.returncode == 7, done.stderr
    said, folder, browser = done.stdout.splitlines()
    assert (said, browser) == ("as committed", "required")
    assert Path(folder).name == "feedline"
    assert Path(folder).parent.parent == temp.resolve()
    assert list(temp.iterdir()) == []
    assert not (checkout / ".venv").exists()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], run.DEFAULT),
        (["--random-order"], [*run.DEFAULT, "--random-order"]),
        (["tests/report", "-k", "json"], [*run.DEFAULT, "tests/report", "-k", "json"]),
        (["-m", "slow"], ["-m", "slow"]),
        (["-x", "-mslow"], ["-x", "-mslow"]),
    ],
)
def test_what_run_py_gives_to_pytest(given, expected):
    """Without the slow tier, unless a tier is asked for."""
    name, command = run.checks(given, "site")[-1]
    assert name == "tests"
    assert command == [sys.executable, "-m", "pytest", *expected]


def test_every_example_that_the_readme_names_is_there():
    text = (ROOT / "README.md").read_text("utf-8")
    named = set(re.findall(r"examples/\w+\.py", text))
    assert named
    assert not [name for name in named if not (ROOT / name).is_file()]
