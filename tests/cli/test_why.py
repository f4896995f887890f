"""`feedline why` as a command line: what it passes on, prints, writes, returns."""

from __future__ import annotations

import json
import os

import pytest

from feedline import errors
from feedline.report.json import load, save
from feedline.report.terminal import render
from tests.cli.command import Done, here, with_session
from tests.report.samples import sample


def why(*arguments: str, script=lambda *_: (sample(), 0), cwd=None) -> Done:
    """`feedline why` over a session that does this with the script."""
    return with_session("why", *arguments, cwd=cwd, why_script=script)


def repeats(target, module, seconds, loop):
    print([target, module, seconds, loop])
    return None, 0


def ran(*_):
    print("ran")
    return None, 0


@pytest.mark.parametrize(
    ("arguments", "seen"),
    [
        (["x.py"], "[['x.py'], False, 60.0, None]"),
        (
            ["--seconds", "5", "--loop", "2", "x.py", "a"],
            "[['x.py', 'a'], False, 5.0, 2]",
        ),
        (
            ["x.py", "--data", "--help", "-m", "--", "-x=1"],
            "[['x.py', '--data', '--help', '-m', '--', '-x=1'], False, 60.0, None]",
        ),
        (
            ["-m", "pkg.train", "-m", "y"],
            "[['pkg.train', '-m', 'y'], True, 60.0, None]",
        ),
        (["--", "-odd.py", "--x"], "[['-odd.py', '--x'], False, 60.0, None]"),
    ],
)
def test_our_options_stand_before_the_script_the_rest_is_untouched(arguments, seen):
    done = why(*arguments, script=repeats)
    assert done.stderr == ""
    assert done.stdout.strip() == seen


@pytest.mark.parametrize("bad", ["0", "-1", "nan", "inf", "many"])
def test_seconds_must_be_a_length_of_time(bad):
    done = why("--seconds", bad, "x.py", script=repeats)
    assert done.returncode == 2
    assert "--seconds" in done.stderr
    assert done.stdout == ""


def test_the_report_is_printed_and_saved(tmp_path):
    path = tmp_path / "r.json"
    done = why("--json", str(path), "x.py")
    assert done.returncode == 0
    assert done.stdout == render(sample())
    assert load(path) == sample()


def test_a_page_is_saved_beside_the_json(tmp_path):
    page, path = tmp_path / "r.html", tmp_path / "r.json"
    done = why("--html", str(page), "--json", str(path), "x.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert page.read_text("utf-8") == sample().to_html()
    assert load(path) == sample()


def test_one_file_cannot_be_both(tmp_path):
    done = why("--html", "r", "--json", "r", "x.py", script=ran, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--json and --html both name r" in done.stderr


def test_the_file_is_where_it_was_asked_for_even_if_the_script_moves(tmp_path):
    (tmp_path / "elsewhere").mkdir()

    def moves(*_):
        os.chdir("elsewhere")
        return sample(), 0

    done = why("--json", "r.json", "x.py", script=moves, cwd=tmp_path)
    assert done.returncode == 0
    assert load(tmp_path / "r.json") == sample()


def test_the_file_is_checked_before_the_script_is_run(tmp_path):
    mine = tmp_path / "notes.txt"
    mine.write_text("mine", "utf-8")
    for path in (tmp_path, tmp_path / "no" / "r.json", mine):
        done = why("--json", str(path), "x.py", script=ran)
        assert done.returncode == 2
        assert done.stdout == ""
        assert done.stderr.startswith("feedline: ")
    assert mine.read_text("utf-8") == "mine"


def test_force_overwrites(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("mine", "utf-8")
    assert why("--force", "--json", str(path), "x.py").returncode == 0
    assert json.loads(path.read_text("utf-8"))["schema"] == 1


def test_an_earlier_report_survives_a_failure(tmp_path):
    path = tmp_path / "r.json"
    save(sample(seconds=1.0), path)
    done = why("--json", str(path), "x.py", script=lambda *_: (None, 7))
    assert done.returncode == 7
    assert load(path).seconds == 1.0


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.NoTrainingLoop("no training loop was seen in x.py"), 3),
        (errors.ScriptError("there is no file x.py"), 2),
        (errors.TensorFlowMissing(), 2),
        (errors.NoTrainingLoop("x.py ended.\nSeen: nothing"), 3),
    ],
)
def test_errors_have_their_exit_code_and_no_traceback(error, code):
    def fails(*_):
        raise error

    done = why("x.py", script=fails)
    assert done.returncode == code
    assert done.stderr.startswith("feedline: ")
    assert "Traceback" not in done.stderr


def test_the_verdict_is_printed_even_if_it_cannot_be_saved(tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()

    def removes(*_):
        folder.rmdir()
        return sample(), 0

    done = why("--json", str(folder / "r.json"), "x.py", script=removes)
    assert done.stdout == render(sample())
    assert done.returncode == 2
    assert "cannot write" in done.stderr


def test_colour_is_on_request():
    assert "\x1b[" in why("--color", "x").stdout
    assert "\x1b[" not in why("x").stdout


def test_help_is_ours_only_before_the_script():
    assert "feedline why train.py" in here("why", "--help").stdout
