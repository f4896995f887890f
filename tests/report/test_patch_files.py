"""Files and their form, names in the patch, what is left alone, places."""

from __future__ import annotations

import os
import textwrap

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from feedline.errors import FeedlineError
from feedline.fixes.fix import Edit
from feedline.job.tfdata.pipeline import Function, Pipeline, Stage, Where
from feedline.report import patch
from feedline.report.patch import Place
from feedline.report.patches.unified import unified
from tests.report.repository import Repository, repository

__all__ = ["repository"]


# ------------------------------------------------------------ files and their form


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_form_is_kept(repository, newline, end, encoding):
    text = "# -*- coding: latin-1 -*-\n" if encoding == "latin-1" else ""
    text += "name = 'Köln'  # größer\nif name:\n\tds = ds.map(\n\t\tf\n\t)" + end
    wanted = text.replace("f\n\t)", "f,\n\t\tnum_parallel_calls=-1,\n\t)")
    line = text[: text.index("ds.map")].count("\n") + 1

    def encoded(text):
        return text.replace("\n", newline).encode(encoding)

    repository.write(encoded(text))
    places = [repository.place("parallel-map", line)]
    assert repository.apply(places) == encoded(wanted)
    assert repository.apply(places) == encoded(wanted)
    assert repository.made.text == ""


@pytest.mark.parametrize("name", ["sub/train.py", "my job/träin.py", 'a"b\\c.py'])
def test_names_from_the_root_of_the_work_tree(tmp_path, monkeypatch, name):
    if os.name == "nt" and '"' in name:
        pytest.skip("no such names here")
    repository = Repository(tmp_path, name)
    repository.write("ds = ds.map(f)\n")
    monkeypatch.chdir(repository.file.parent)
    after = repository.apply([repository.place("parallel-map", 1)])
    assert after == b"ds = ds.map(f, num_parallel_calls=-1)\n"


def test_names_from_the_current_directory_outside_of_git(tmp_path, monkeypatch):
    script = tmp_path / "here" / "job" / "train.py"
    script.parent.mkdir(parents=True)
    script.write_text("ds = ds.map(f)\n", "utf-8")
    place = Place(Edit("parallel-map", 0), str(script), 1, "map")
    for cwd, name in [(tmp_path / "here", "job/train.py"), (script.parent, "train.py")]:
        monkeypatch.chdir(cwd)
        root = patch.root_of([place])
        if any((up / ".git").exists() for up in (tmp_path, *tmp_path.parents)):
            pytest.skip("the temporary folder is under git")
        text = patch.make([place], root).text
        assert text.startswith(f"diff --git a/{name} b/{name}\n")
    # Not below the current directory: from its own folder.
    assert patch.root_of([place], tmp_path / "elsewhere") == script.parent.resolve()


def test_several_files_in_one_patch(repository):
    repository.write("ds = ds.map(f)\n")
    other = repository.root / "data.py"
    other.write_text("def feed(ds):\n    return ds.batch(2)\n", "utf-8")
    places = [
        repository.place("parallel-map", 1),
        Place(Edit("prefetch"), str(other), 2, "batch"),
        repository.place("cache", 1),
    ]
    assert repository.apply(places) == (
        b"ds = ds.map(f, num_parallel_calls=-1).cache()\n"
    )
    assert (
        other.read_text("utf-8")
        == "def feed(ds):\n    return ds.batch(2).prefetch(-1)\n"
    )
    assert [o.place for o in repository.made.outcomes] == places


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("venv/lib/site-packages/kit/data.py", b"ds = ds.map(f)\n"),
        ("lib/python3/dist-packages/kit.py", b"ds = ds.map(f)\n"),
        ("broken.py", b"ds = ds.map(f\n"),
        ("wrong.py", b"ds = ds.map('\xff')\n"),
        ("nul.py", b"ds = ds.map(f)\0\n"),
        ("short.py", b""),
        ("missing.py", None),
    ],
)
def test_files_that_are_left_alone(tmp_path, name, source):
    repository = Repository(tmp_path, name)
    if source is not None:
        repository.write(source)
    made = patch.make([repository.place("parallel-map", 1, code="x")], tmp_path)
    assert made.text == ""
    assert [outcome.how for outcome in made.left] == ["left"]
    assert made.left[0].reason


def test_files_outside_of_the_project_are_left_alone(tmp_path):
    (tmp_path / "project").mkdir()
    script = tmp_path / "train.py"
    script.write_text("ds = ds.map(f)\n", "utf-8")
    place = Place(Edit("parallel-map", 0), str(script), 1, "map")
    assert "outside" in patch.make([place], tmp_path / "project").left[0].reason
    place = Place(Edit("parallel-map", 0), textwrap.__file__, 1, "map")
    assert patch.make([place], tmp_path.anchor and tmp_path).text == ""


def test_a_file_that_has_changed_is_left_alone(repository):
    repository.write("import os\nds = ds.map(f)\n")
    same = repository.place("parallel-map", 2, code="ds = ds.map(f)")
    old = repository.place("parallel-map", 1, code="ds = ds.map(f)")
    assert patch.make([same], repository.root).text
    assert patch.make([same, old], repository.root).text == ""
    assert patch.make([repository.place("cache", 9)], repository.root).text == ""


def test_save_is_whole_or_not_at_all(tmp_path):
    patch.save("--- \udce9\r\n", tmp_path / "a.diff")
    assert (tmp_path / "a.diff").read_bytes() == b"--- \xe9\r\n"
    with pytest.raises(FeedlineError, match="cannot write"):
        patch.save("", tmp_path / "none" / "a.diff")
    assert [path.name for path in tmp_path.iterdir()] == ["a.diff"]


# -------------------------------------------------------------------- the places


def test_places_of_a_pipeline(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def where(line):
        return Where("train.py", line, "x")

    source = Stage("range", where=where(1))
    f = Stage("map", (source,), {}, (Function("f"),), where=where(2))
    g = Stage("map", (f,), {}, (Function("g"),), where=where(2))
    shuffle = Stage("shuffle", (g,), {"buffer_size": 9}, where=where(3))
    batch = Stage("batch", (shuffle,), {"num_parallel_calls": 2}, where=where(4))
    hidden = Stage("repeat", (batch,))
    pipeline = Pipeline(hidden).numbered()
    edits = [
        Edit("parallel-map", 2),
        Edit("shuffle-ids", 3),
        Edit("unordered"),
        Edit("prefetch"),
        Edit("jit-compile"),
    ]
    found = patch.places(pipeline, edits, Where("train.py", 9))
    assert [(p.edit.fix, p.line, p.op, p.label, p.nth, p.of) for p in found] == [
        ("parallel-map", 2, "map", "map(g)", 1, 2),
        ("shuffle-ids", 3, "shuffle", "shuffle(9)", 0, 1),
        ("unordered", 2, "map", "map(g)", 1, 2),
        ("unordered", 4, "batch", "batch()", 0, 1),
        ("prefetch", 9, "", "repeat()", 0, 1),
        ("jit-compile", 9, "fit", "fit()", 0, 1),
    ]
    assert found[1].over == 2
    assert {p.file for p in found} == {str(tmp_path / "train.py")}
    assert all(Place.from_dict(p.to_dict()) == p for p in found)
    assert patch.places(pipeline, [Edit("jit-compile")], None) == ()
    with pytest.raises(FeedlineError, match="where its changes belong"):
        Place.from_dict({"edit": None})


# ---------------------------------------------------------------------- the diff

LINES = st.lists(st.sampled_from(["", "a", "b", "c\r", "é"]), max_size=14)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(LINES, LINES, st.booleans(), st.booleans())
# Lines that repeat around the change, up to the end of the file.
@example([""] * 5, ["", "", "", "a", "", "", "", ""], False, True)
@example([""] * 5, ["a", *[""] * 5], False, True)
def test_git_makes_the_one_of_the_other(repository, before, after, end, end_too):
    old = "\n".join(["x", *before]).encode() + b"\n" * end
    new = "\n".join(["x", *after]).encode() + b"\n" * end_too
    repository.write(old)
    text = unified("train.py", old, new)
    assert bool(text) == (old != new)
    if text:
        patch.save(text, repository.root / "one.diff")
        repository.git("apply", "--whitespace=nowarn", "one.diff")
    assert repository.file.read_bytes() == new
