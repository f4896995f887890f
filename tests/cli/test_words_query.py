"""`feedline words similar`, `analogy`, `evaluate`, `export`, as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from feedline.cli.words.analogy import parse
from feedline.errors import FeedlineError
from feedline.words.vectors.vectors import Vectors
from tests.cli.command import Done, here


def words(*arguments: str, cwd: Path | None = None) -> Done:
    return here("words", *arguments, cwd=cwd)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    male, female, rank, fruit = np.eye(4, dtype=np.float32)
    rows = [rank + male, rank + female, male, female, fruit]
    names = ("king", "queen", "man", "woman", "größe")
    folder = tmp_path_factory.mktemp("words")
    vectors = Vectors(names, np.stack(rows), np.array([5, 4, 3, 2, 1]))
    vectors.save(folder / "v")
    vectors.export(folder / "v.vec")
    questions = ": family\nman king woman queen\nman king x y\n"
    (folder / "q.txt").write_text(questions, "utf-8")
    pairs = "king\tqueen\t8\nman\tking\t7\nking\tgröße\t1\n"
    (folder / "p.tsv").write_text(pairs, "utf-8")
    return folder


@pytest.mark.parametrize("name", ["v", "v.vec"])
def test_similar(saved, name):
    done = words("similar", name, "king", "-n", "2", cwd=saved)
    assert done.stderr == ""
    assert done.stdout == "  man            0.7071\n  queen          0.5000\n"


def test_similar_to_several_words(saved):
    each = words("similar", "v", "king", "man", "-n", "1", cwd=saved)
    assert [line.split()[0] for line in each.stdout.split("\n") if line] == [
        *("king", "man"),
        *("man", "king"),
    ]
    mean = words("similar", "v", "king", "woman", "--together", "-n", "1", cwd=saved)
    assert mean.stdout.split() == [
        "king",
        "+",
        "woman",
        "queen",
        mean.stdout.split()[4],
    ]


def test_an_unknown_word_is_one_clear_sentence(saved):
    done = words("similar", "v", "kingg", cwd=saved)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        "feedline: the vocabulary of 5 words has no 'kingg'; did you mean king?\n"
    )


@pytest.mark.parametrize(
    "question",
    [
        ["king - man + woman"],
        ["king", "-", "man", "+", "woman"],
        ["man", "king", "woman"],
    ],
)
def test_analogy(saved, question):
    done = words("analogy", "v", *question, "-n", "1", cwd=saved)
    assert done.stderr == ""
    assert done.stdout.split()[0] == "queen"


def test_how_a_question_is_understood():
    assert parse(["king - man + woman"]) == (["king", "woman"], ["man"])
    assert parse(["- man + king"]) == (["king"], ["man"])
    assert parse(["a b c"]) == (["b", "c"], ["a"])
    assert parse(["well-known + x"]) == (["well-known", "x"], [])
    for wrong in (["king"], ["king -"], ["a + - b"], ["a b + c"], ["a b c d"], [""]):
        with pytest.raises(FeedlineError, match="is not a question"):
            parse(wrong)


def test_evaluate(saved):
    done = words(
        *("evaluate", "v", "--analogies", "q.txt", "--pairs", "p.tsv"),
        *("--json", "scores.json", "--restrict", "5"),
        cwd=saved,
    )
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0] == "5 of 5 words"
    assert (
        "  family                                   1        1   100.0%         1"
        in (lines)
    )
    assert max(map(len, lines)) <= 80
    assert any(line.split()[:2] == ["p.tsv", "0.5000"] for line in lines)
    data = json.loads((saved / "scores.json").read_text("utf-8"))
    assert data["schema"] == 1
    assert data["analogies"]["total"]["accuracy"] == 1.0
    assert data["analogies"]["sections"][0]["unknown"] == 1
    assert data["pairs"][0]["spearman"] == pytest.approx(0.5)
    again = words("evaluate", "v", "--pairs", "p.tsv", "--json", "p.tsv", cwd=saved)
    assert again.returncode == 2
    assert "p.tsv exists" in again.stderr


def test_evaluate_needs_something_to_evaluate_with(saved):
    done = words("evaluate", "v", cwd=saved)
    assert done.returncode == 2
    assert "give --analogies FILE, --pairs FILE or both" in done.stderr


def test_export(saved, tmp_path):
    out = str(tmp_path / "out.bin")
    done = words("export", "v", out, "--limit", "3", cwd=saved)
    assert done.stderr == ""
    assert done.stdout.endswith("3 words, dimension 4, word2vec-binary\n")
    assert Vectors.load(out).words == ("king", "queen", "man")
    again = words("export", "v", out, cwd=saved)
    assert again.returncode == 2
    assert "--force" in again.stderr
    assert words("export", "v.vec", out, "--force", cwd=saved).returncode == 0
    assert len(Vectors.load(out)) == 5


def test_a_wrong_name_or_format_is_told_before_anything_is_read(saved, tmp_path):
    done = words("export", "nowhere", str(tmp_path / "x.xyz"), cwd=saved)
    assert done.returncode == 2
    assert "does not say the format" in done.stderr
    done = words("export", "nowhere", "x", "--format", "pickle", cwd=saved)
    assert "cannot be written as 'pickle'" in done.stderr
    done = words("similar", "nowhere", "king", cwd=saved)
    assert done.stderr == "feedline: cannot read nowhere: No such file or directory\n"


@pytest.mark.parametrize("command", ["similar", "analogy", "evaluate", "export"])
def test_the_help_teaches_within_80_columns(command):
    done = words(command, "--help")
    assert done.returncode == 0
    assert "Examples:" in done.stdout
    assert f"feedline words {command} vectors" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_what_a_terminal_cannot_show_is_escaped(tmp_path):
    names = ("a", "b\x1b[31m", "漢" * 80)
    Vectors(names, np.eye(3) + 0.5).save(tmp_path / "v")
    done = words("similar", "v", "a", cwd=tmp_path)
    assert "\\x1b[31m" in done.stdout
    assert "\x1b" not in done.stdout
