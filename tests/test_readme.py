"""What README.md says can be done, as far as it can be checked without doing it."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_ci_runs_the_test_command_of_the_readme():
    command = (ROOT / ".ci" / "run").read_text("utf-8").splitlines()[-1]
    assert command.endswith("tests/run.py")
    assert command in (ROOT / "README.md").read_text("utf-8").splitlines()


def test_ci_has_the_browser_that_the_page_is_tested_in():
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    assert "missing+=(chromium)" in script
    assert "FEEDLINE_BROWSER=required" in script


def test_every_example_that_the_readme_names_is_there():
    text = (ROOT / "README.md").read_text("utf-8")
    named = set(re.findall(r"examples/\w+\.py", text))
    assert named
    assert not [name for name in named if not (ROOT / name).is_file()]
