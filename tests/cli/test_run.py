"""`feedline run` as a command line: what it passes on, prints, writes, returns."""

from __future__ import annotations

import sys

import pytest

from feedline.fixes.fix import Edit
from feedline.fixes.saved import SavedPlan, load, save
from feedline.report.json import load as load_report
from feedline.report.terminal import render
from tests.cli.command import WITH_FAKE_SESSION, feedline, run
from tests.report.samples import sample

PLAN = SavedPlan("train.py:3", "abcd", (Edit("prefetch"),), None)
SEEN = (
    "print([target, module, seconds, loop, list(allow), plan and plan.where, rehearse])"
    "\nreturn Ran(0)"
)


def with_session(body: str, *arguments: str, **options):
    """`feedline run` over a session that does BODY. `plan_made` is a plan."""
    program = (
        WITH_FAKE_SESSION
        + "from dataclasses import dataclass\n"
        + "from typing import Any\n"
        + "from tests.report.samples import sample\n"
        + "from tests.cli.test_run import PLAN as plan_made\n"
        + "from feedline.errors import *\n"
        + "@dataclass\n"
        + "class Ran:\n"
        + "    code: int\n    report: Any = None\n    plan: Any = None\n"
        + "    applied: bool = False\n"
        + "def run_script(target, module, seconds, loop, *, allow=('exact',), "
        + "plan=None, rehearse=False, **more):\n"
        + "".join(f"    {line}\n" for line in body.splitlines())
        + "session.run_script = run_script\n"
        + "main()\n"
    )
    return run([sys.executable, "-c", program, "run", *arguments], **options)


@pytest.mark.parametrize(
    ("arguments", "seen"),
    [
        (["x.py"], "[['x.py'], False, 60.0, None, ['exact'], None, False]"),
        (
            ["--allow", "numeric, reordered", "--rehearse", "--seconds", "5", "x.py"],
            "[['x.py'], False, 5.0, None, ['numeric', 'reordered'], None, True]",
        ),
        (
            ["--loop", "2", "x.py", "--epochs", "3", "--help"],
            (
                "[['x.py', '--epochs', '3', '--help'], False, 60.0, 2, ['exact'], "
                "None, False]"
            ),
        ),
        (
            ["-m", "pkg.train", "-m", "y"],
            "[['pkg.train', '-m', 'y'], True, 60.0, None, ['exact'], None, False]",
        ),
    ],
)
def test_our_options_stand_before_the_script_the_rest_is_untouched(arguments, seen):
    done = with_session(SEEN, *arguments)
    assert done.stderr == ""
    assert done.stdout.strip() == seen
    assert done.returncode == 0


def test_an_option_of_ours_behind_the_script_is_the_scripts_and_that_is_said():
    done = with_session(SEEN, "x.py", "--allow", "mine", "--json=a", "-m")
    assert done.stdout.startswith("[['x.py', '--allow', 'mine', '--json=a', '-m']")
    assert done.stderr == (
        "feedline: --allow, --json: given to the script, as is all after its name\n"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["--allow", "fast"],
        ["--allow", "exact,advice"],
        ["--seconds", "0"],
        ["--loop", "0"],
        ["--json", "no/such/folder/r.json"],
        ["--html", "no/such/folder/r.html"],
        ["--patch", "no/such/folder/p.diff"],
        ["--plan", "no/such/folder/p.plan"],
    ],
    ids=" ".join,
)
def test_bad_usage_is_said_before_the_script_is_run(arguments, tmp_path):
    done = with_session("print('ran')\nreturn Ran(0)", *arguments, "x.py", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr
    assert "Traceback" not in done.stderr


def test_a_damaged_plan_is_bad_input(tmp_path):
    path = tmp_path / "train.plan"
    path.write_text("{")
    done = with_session("print('ran')", "--plan", str(path), "x.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Remove the file to measure anew" in done.stderr
    assert path.read_text() == "{"


def test_a_plan_is_used_where_there_is_one_and_made_where_not(tmp_path):
    path = tmp_path / "train.plan"
    body = "print(plan and plan.where)\nreturn Ran(0, None, plan_made)"
    done = with_session(body, "--plan", str(path), "x.py")
    assert done.stdout.strip() == "None"
    assert load(path) == PLAN
    mine = SavedPlan("other.py:1", "ffff", (), None)
    save(mine, path)
    done = with_session(body, "--plan", str(path), "x.py")
    assert done.stdout.strip() == "other.py:1"
    assert load(path) == mine  # is not overwritten


def test_a_plan_is_held_to_what_is_allowed(tmp_path):
    """Before the script is started: it would leave a file behind."""
    path, script = tmp_path / "train.plan", tmp_path / "x.py"
    script.write_text("open('ran', 'w')\n")
    save(SavedPlan("x.py:1", "ffff", (Edit("prefetch"), Edit("unordered"))), path)
    kept = path.read_text()
    done = feedline("run", "--plan", str(path), "x.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "unordered, which is reordered" in done.stderr
    assert "--allow reordered" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "ran").exists()
    assert path.read_text() == kept


def test_the_report_goes_to_standard_error_and_to_its_file(tmp_path):
    path, page = tmp_path / "r.json", tmp_path / "r.html"
    body = "print('the script')\nreturn Ran(0, sample())"
    done = with_session(body, "--json", str(path), "--html", str(page), "x.py")
    assert done.stdout == "the script\n"
    assert done.stderr == render(sample())
    assert load_report(path) == sample()
    assert page.read_text("utf-8") == sample().to_html()


@pytest.mark.parametrize("code", [0, 1, 7, 143])
def test_the_exit_code_is_the_scripts(code):
    assert with_session(f"return Ran({code})", "x.py").returncode == code


def test_what_fails_after_the_script_does_not_change_its_exit_code(tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    body = f"import os; os.rmdir({str(folder)!r}); return Ran(7, sample(), plan_made)"
    options = [f"--{name}={folder / name}" for name in ("json", "html", "plan")]
    done = with_session(body, *options, "x.py")
    assert done.returncode == 7
    assert done.stderr.startswith(render(sample()))
    told = [line for line in done.stderr.splitlines() if line.startswith("feedline: ")]
    assert len(told) == 2  # the report's files, and the plan's
    assert "Traceback" not in done.stderr


def test_it_is_said_where_no_report_is_written(tmp_path):
    done = with_session("return Ran(0)", "--json", str(tmp_path / "r.json"), "x.py")
    assert done.returncode == 0
    assert "nothing was measured" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["notes.txt", "train.py"])
def test_a_patch_overwrites_only_patches(tmp_path, name):
    path = tmp_path / name
    path.write_text("mine")
    done = with_session("print('ran')\nreturn Ran(0)", "--patch", str(path), "x.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert path.read_text() == "mine"


def test_help_says_what_may_change():
    done = feedline("run", "--help")
    assert done.returncode == 0
    for word in ("exact", "reordered", "numeric", "--plan", "--rehearse", "--live"):
        assert word in done.stdout


def test_a_script_that_is_not_there():
    done = feedline("run", "no-such.py")
    assert done.returncode == 2
    assert "no-such.py" in done.stderr
    assert "Traceback" not in done.stderr
