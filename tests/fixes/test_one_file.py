"""Rule 1 of the house: everything about a fix is in its file."""

from __future__ import annotations

import ast
from pathlib import Path

import feedline
from feedline import fixes

ROOT = Path(feedline.__file__).parent
# These are also names of Dataset methods; which of them may stand where is the business
# of the ops' table. `workers` is also an argument of Keras'.
ALSO_SOMETHING_ELSE = {"cache", "interleave", "prefetch", "workers"}


def strings(path: Path) -> set[str]:
    return {
        node.value
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def test_no_fix_is_named_outside_of_fixes_and_causes():
    for path in sorted(ROOT.rglob("*.py")):
        if path.relative_to(ROOT).parts[0] not in ("fixes", "causes"):
            found = strings(path) & (set(fixes.all()) - ALSO_SOMETHING_ELSE)
            assert not found, path


def test_the_machinery_of_fixes_names_none_either():
    for path in (ROOT / "fixes").glob("*.py"):
        assert not strings(path) & (set(fixes.all()) - ALSO_SOMETHING_ELSE), path.name


def test_what_is_also_something_else_is_a_fix():
    assert set(fixes.all()) >= ALSO_SOMETHING_ELSE
