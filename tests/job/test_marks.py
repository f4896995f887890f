"""The marks on TensorFlow's objects stand in one file."""

from __future__ import annotations

import ast
from pathlib import Path

import feedline
from feedline.job import marks

SOURCE = Path(feedline.__file__).parent


def test_every_mark_is_listed():
    known = {value for name, value in vars(marks).items() if name.isupper()}
    assert all(mark.startswith("_feedline_") for mark in known)
    written = {}
    for path in SOURCE.rglob("*.py"):
        if path == Path(marks.__file__):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            name = getattr(node, "attr", None) or getattr(node, "value", None)
            if isinstance(name, str) and name.startswith("_feedline_"):
                written.setdefault(name, set()).add(path.name)
    # The names of functions in a graph, which are made up of their tokens.
    written.pop("_feedline_", None)
    assert not written, "use feedline.job.marks"
