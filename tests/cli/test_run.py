"""`feedline run` as a command line: what it passes on, prints, writes, returns."""

from __future__ import annotations

import pytest

from feedline.fixes.fix import Edit
from feedline.fixes.saved import load, save
from feedline.report.json import load as load_report
from feedline.report.terminal import render
from feedline.session.ran import Ran
from tests.cli.command import Done, here, with_session
from tests.plans import somewhere
from tests.report.samples import sample

PLAN = somewhere(Edit("prefetch"))


def run(*arguments: str, script=lambda *_, **__: Ran(0), cwd=None) -> Done:
    """`feedline run` over a session that does this with the script."""
    return with_session("run", *arguments, cwd=cwd, run_script=script)


def repeats(target, module, seconds, loop, *, allow, plan, rehearse, **_):
    where = plan and plan.where
    print([target, module, seconds, loop, list(allow), where, rehearse])
    return Ran(0)


def ran(*_, **__):
    print("ran")
    return Ran(0)


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
    done = run(*arguments, script=repeats)
    assert done.stderr == ""
    assert done.stdout.strip() == seen
    assert done.returncode == 0


def test_an_option_of_ours_behind_the_script_is_the_scripts_and_that_is_said():
    done = run("x.py", "--allow", "mine", "--json=a", "-m", script=repeats)
    assert done.stdout.startswith("[['x.py', '--allow', 'mine', '--json=a', '-m']")
    assert done.stderr == (
        "feedline: --allow, --json: passed to the script, like everything after its "
        "name\n"
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
    done = run(*arguments, "x.py", script=ran, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr
    assert "Traceback" not in done.stderr


def test_a_damaged_plan_is_bad_input(tmp_path):
    path = tmp_path / "train.plan"
    path.write_text("{", "utf-8")
    done = run("--plan", str(path), "x.py", script=ran)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Remove the file to measure again" in done.stderr
    assert path.read_text("utf-8") == "{"


def test_a_plan_is_used_where_there_is_one_and_made_where_not(tmp_path):
    path = tmp_path / "train.plan"

    def plans(*_, plan, **__):
        print(plan and plan.where)
        return Ran(0, None, PLAN)

    done = run("--plan", str(path), "x.py", script=plans)
    assert done.stdout.strip() == "None"
    assert load(path) == PLAN
    mine = somewhere(where="other.py:1")
    save(mine, path)
    done = run("--plan", str(path), "x.py", script=plans)
    assert done.stdout.strip() == "other.py:1"
    assert load(path) == mine  # is not overwritten


def test_a_plan_is_held_to_what_is_allowed(tmp_path):
    """Before the script is started: it would leave a file behind."""
    path, script = tmp_path / "train.plan", tmp_path / "x.py"
    script.write_text("open('ran', 'w')\n", "utf-8")
    save(somewhere(Edit("prefetch"), Edit("unordered"), where="x.py:1"), path)
    kept = path.read_text("utf-8")
    done = here("run", "--plan", str(path), "x.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "unordered, which is reordered" in done.stderr
    assert "--allow reordered" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "ran").exists()
    assert path.read_text("utf-8") == kept


def test_the_report_goes_to_standard_error_and_to_its_file(tmp_path):
    path, page = tmp_path / "r.json", tmp_path / "r.html"

    def trains(*_, **__):
        print("the script")
        return Ran(0, sample())

    done = run("--json", str(path), "--html", str(page), "x.py", script=trains)
    assert done.stdout == "the script\n"
    assert done.stderr == render(sample())
    assert load_report(path) == sample()
    assert page.read_text("utf-8") == sample().to_html()


@pytest.mark.parametrize("code", [0, 1, 7, 143])
def test_the_exit_code_is_the_scripts(code):
    done = run("x.py", script=lambda *_, **__: Ran(code))
    assert done.returncode == code


def test_what_fails_after_the_script_does_not_change_its_exit_code(tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()

    def ends(*_, **__):
        folder.rmdir()
        return Ran(7, sample(), PLAN)

    options = [f"--{name}={folder / name}" for name in ("json", "html", "plan")]
    done = run(*options, "x.py", script=ends)
    assert done.returncode == 7
    assert done.stderr.startswith(render(sample()))
    told = [line for line in done.stderr.splitlines() if line.startswith("feedline: ")]
    assert len(told) == 2  # the report's files, and the plan's
    assert "Traceback" not in done.stderr


def test_it_is_said_where_no_report_is_written(tmp_path):
    done = run("--json", str(tmp_path / "r.json"), "x.py")
    assert done.returncode == 0
    assert "nothing was measured" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["notes.txt", "train.py"])
def test_a_patch_overwrites_only_patches(tmp_path, name):
    path = tmp_path / name
    path.write_text("mine", "utf-8")
    done = run("--patch", str(path), "x.py", script=ran)
    assert (done.returncode, done.stdout) == (2, "")
    assert path.read_text("utf-8") == "mine"


def test_help_says_what_may_change():
    done = here("run", "--help")
    assert done.returncode == 0
    for word in ("exact", "reordered", "numeric", "--plan", "--rehearse", "--live"):
        assert word in done.stdout


def test_a_script_that_is_not_there():
    done = here("run", "no-such.py")
    assert done.returncode == 2
    assert "no-such.py" in done.stderr
    assert "Traceback" not in done.stderr
