"""What is private in TensorFlow and Keras is where feedline expects it, and is named
in one file for each of them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import feedline
from feedline.job.private import keras, tensorflow
from feedline.job.private.expected import Expected, load

SOURCE = Path(feedline.__file__).parent
PRIVATE = ("tensorflow.python", "tensorflow.core", "keras.src")
# These know nothing of the job.
APART = ("job/private/", "rows/private.py", "words/")


@pytest.mark.tensorflow
@pytest.mark.parametrize("table", [tensorflow.TABLE, keras.TABLE], ids=["tf", "keras"])
def test_it_is_where_it_is_expected(table):
    pytest.importorskip("tensorflow")
    assert [each.missing() for each in table.values() if each.missing()] == []


@pytest.mark.tensorflow
def test_what_is_changed_as_it_is_loaded_is_there():
    pytest.importorskip("tensorflow")
    changed = [
        value
        for module in (tensorflow, keras)
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, str) and "PACKAGE" not in name
    ]
    assert len(changed) > 10
    expected = [Expected(name) for name in changed]
    expected += [Expected(*each) for each in tensorflow.EAGER_CALLS]
    assert [each.missing() for each in expected if each.missing()] == []


def test_no_other_file_imports_private_modules():
    found = {}
    for path in SOURCE.rglob("*.py"):
        place = path.relative_to(SOURCE).as_posix()
        if place.startswith(APART):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [each.name for each in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            if any(name.startswith(PRIVATE) for name in names):
                found[place] = node.lineno
    assert not found, "import it from feedline.job.private"


def test_a_change_inside_is_said_with_the_file_to_change():
    table = {"gone": Expected("json", only="no_such_name")}
    with pytest.raises(ImportError, match=r"json .* feedline/job/private/json\.py"):
        load("json", table, "gone")
    assert Expected("json", ("no_such_name",)).missing() == "json has no no_such_name"
    assert Expected("json.of_tomorrow").missing()
    assert not Expected("json.of_tomorrow", optional=True).missing()
    with pytest.raises(AttributeError):
        tensorflow.of_tomorrow  # noqa: B018
