"""A file or folder is there whole or not at all."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from feedline.files import whole


def names(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_written_and_replaced(tmp_path):
    path = tmp_path / "report.json"
    whole.write(path, "first é")
    assert path.read_text("utf-8") == "first é"
    whole.write(path, b"second", sync=False)
    assert path.read_bytes() == b"second"
    assert names(tmp_path) == ["report.json"]


def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "report.json"
    whole.write(path, "old")
    with pytest.raises(ValueError, match="closed"), whole.writing(path) as file:
        (file.write(b"half"), file.close(), file.write(b"more"))
    with pytest.raises(UnicodeEncodeError):
        whole.write(path, "\ud800")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["report.json"]


def test_the_name_to_write_under_keeps_the_ending(tmp_path):
    with whole.replacing(tmp_path / "model.keras") as part:
        assert part.suffix == ".keras"
        assert part.name.startswith(".")
        part.write_text("model")
    assert names(tmp_path) == ["model.keras"]


def test_a_name_of_the_callers_own_is_written_over(tmp_path):
    path, part = tmp_path / "c.json", tmp_path / "c.json.part"
    part.write_text("left by a killed process")
    with whole.replacing(path, part=part) as given:
        assert given == part
        part.write_text("new")
    assert path.read_text() == "new"
    assert names(tmp_path) == ["c.json"]


def test_the_systems_error_is_passed_on(tmp_path):
    with pytest.raises(FileNotFoundError):
        whole.write(tmp_path / "missing" / "file", "x")


def fill(folder, text):
    folder.mkdir()
    (folder / "content").write_text(text)


def test_a_folder_is_put_in_place_of_another(tmp_path):
    place = tmp_path / "model"
    for text in ("first", "second"):
        with whole.replacing_folder(place) as part:
            fill(part, text)
        assert (place / "content").read_text() == text
        assert names(tmp_path) == ["model"]


def test_a_folder_that_fails_leaves_the_old_one(tmp_path):
    place = tmp_path / "model"
    fill(place, "old")
    with pytest.raises(FileExistsError), whole.replacing_folder(place) as part:
        (fill(part, "half"), fill(part, "again"))
    with pytest.raises(FileNotFoundError), whole.replacing_folder(place):
        pass  # nothing was built
    assert (place / "content").read_text() == "old"
    assert names(tmp_path) == ["model"]


def test_named_files_are_replaced_in_a_folder_and_its_others_stay(tmp_path):
    place = tmp_path / "vectors"
    for text in ("first", "second"):
        with whole.replacing_folder(place, ["content"]) as part:
            fill(part, text)
        assert (place / "content").read_text() == text
        (place / "notes").write_text("mine")
    assert names(place) == ["content", "notes"]
    assert names(tmp_path) == ["vectors"]


def test_a_move_takes_no_ones_place(tmp_path):
    (tmp_path / "taken").mkdir()
    fill(tmp_path / "here", "x")
    with pytest.raises(FileExistsError):
        whole.move(tmp_path / "here", tmp_path / "taken")
    whole.move(tmp_path / "here", tmp_path / "free")
    assert names(tmp_path) == ["free", "taken"]


def test_nothing_else_renames():
    """One place writes and renames: every other asks it."""
    source = Path(whole.__file__).parents[1]
    found = [
        f"{path.relative_to(source)}:{node.lineno}"
        for path in sorted(source.rglob("*.py"))
        if path != Path(whole.__file__)
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute)
        and (
            node.attr in {"rename", "renames"}
            or (node.attr == "replace" and ast.unparse(node.value) == "os")
        )
    ]
    assert found == []
