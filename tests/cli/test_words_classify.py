"""`feedline words classify train`, `predict` and `test`, as a user runs them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

from tests.cli.command import feedline
from tests.cli.test_words_query import words
from tests.place import LIMIT
from tests.words.labelled import lines, planted


def classify(*arguments, cwd):
    return words("classify", *map(str, arguments), cwd=cwd)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("classify")
    rows = "".join(f"{label},{text}\n" for text, label in planted(90))
    (place / "train.txt").write_text(lines(planted()), "utf-8")
    (place / "test.txt").write_text(lines(planted(90, seed=1)), "utf-8")
    (place / "rows.csv").write_text(f"label,text\n{rows}", "utf-8")
    done = classify("train", "train.txt", "-o", "topics", "--dim", "10", cwd=place)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    first, second, third = done.stdout.splitlines()
    assert first.startswith("topics: 3 labels, 600 texts, ")
    assert "words/s on" in second
    assert third == "Try: feedline words classify test topics TEST_FILE"
    return place


def test_predict(folder):
    done = classify("predict", "topics", "test.txt", "--k", "2", cwd=folder)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert len(rows) == 90
    assert {len(row) for row in rows} == {4}
    assert [row[0] for row in rows].count("film") == pytest.approx(30, abs=3)
    assert all(0.5 < float(row[1]) + float(row[3]) <= 1.00001 for row in rows)
    few = classify("predict", "topics", "rows.csv", "--threshold", "1", cwd=folder)
    assert few.stdout.count("\n") == 90


def test_predict_from_standard_input(folder):
    text = "sports1 sports2 sports3\n__label__film politics1 politics2\n\nfilm1 film3"
    done = feedline("words", "classify", "predict", "topics", cwd=folder, input=text)
    assert done.stderr == ""
    found = [line.split("\t")[0] for line in done.stdout.splitlines()]
    assert found[:2] + found[3:] == ["sports", "politics", "film"]
    assert len(found) == 4


def test_test(folder):
    done = classify("test", "topics", "test.txt", "--json", "s.json", cwd=folder)
    assert done.stderr == ""
    out = done.stdout.splitlines()
    assert out[0].startswith("90 texts, accuracy 0.9") or "1.0000" in out[0]
    assert max(map(len, out)) <= 80
    assert [line.split()[0] for line in out[3:6]] == ["film", "politics", "sports"]
    data = json.loads((folder / "s.json").read_text("utf-8"))
    assert data["schema"] == 1
    assert data["accuracy"] == data["precision"] == data["recall"] > 0.9
    assert len(data["labels"]) == 3
    again = classify("test", "topics", "test.txt", "--json", "s.json", cwd=folder)
    assert again.returncode == 2
    assert "s.json exists" in again.stderr


def test_wrong_input_is_one_clear_line(folder):
    there = classify("train", "train.txt", "-o", "topics", cwd=folder)
    assert there.returncode == 2
    assert "holds a classifier already" in there.stderr
    for arguments, message in [
        (("train", "none.txt", "-o", "x"), "there is no file 'none.txt'"),
        (("train", "train.txt", "-o", "x", "--dim", "0"), "dim is 0"),
        (("train", "train.txt", "-o", "no/x"), "no directory"),
        (("predict", "nothing", "test.txt"), "cannot read nothing"),
        (("test", "topics", "train.txt", "--format", "xml"), "'xml' is not a format"),
    ]:
        done = classify(*arguments, cwd=folder)
        assert done.returncode == 2
        assert message in done.stderr
        assert done.stderr.count("\n") == 1
    assert not (folder / "x").exists()


def test_help_fits_the_screen(folder):
    for command in ("", "train", "predict", "test", "export"):
        done = classify(*command.split(), "--help", cwd=folder)
        assert done.returncode == 0
        assert max(map(len, done.stdout.splitlines())) <= 80


def test_a_label_cannot_reach_the_terminal(folder):
    text = "__label__\x1b[31mred one two\n__label__blue three four\n" * 20
    (folder / "evil.txt").write_text(text, "utf-8")
    assert not classify("train", "evil.txt", "-o", "evil", cwd=folder).returncode
    for command in ("test", "predict"):
        done = classify(command, "evil", "evil.txt", cwd=folder)
        assert "\x1b" not in done.stdout
        assert "\\x1b[31mred" in done.stdout


def test_an_interrupt_leaves_nothing(folder, monkeypatch):
    from feedline.cli.words.bar import Bar

    def stop(self, progress):
        if progress.stage == "train":
            raise KeyboardInterrupt

    monkeypatch.setattr(Bar, "__call__", stop)
    before = sorted(folder.iterdir())
    done = classify("train", "train.txt", "-o", "stopped", cwd=folder)
    assert done.returncode == 130
    assert done.stderr == "feedline: interrupted; stopped was not written.\n"
    assert sorted(folder.iterdir()) == before


TOLD = """\
from feedline.cli.main import main
from feedline.cli.words.bar import Bar

def told(self, progress):
    if progress.stage == "train":
        print("training", flush=True)
        Bar.__call__ = went_on
    went_on(self, progress)

went_on = Bar.__call__
Bar.__call__ = told
main()
"""


@pytest.mark.slow
def test_a_real_interrupt_leaves_nothing(tmp_path):
    (tmp_path / "train.txt").write_text(lines(planted(20_000)), "utf-8")
    command = [sys.executable, "-c", TOLD, "words", "classify", "train"]
    command += ["train.txt", "-o", "made", "--epochs", "100000"]
    started = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert started.stdout is not None
    assert started.stdout.readline() == "training\n"
    started.send_signal(signal.SIGINT)
    _, error = started.communicate(timeout=LIMIT)
    assert started.returncode == 130
    assert "was not written" in error
    assert [path.name for path in tmp_path.iterdir()] == ["train.txt"]
