"""Rule 1 of the house: everything about a fix is in its file."""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import feedline
from feedline import fixes
from feedline.fixes import pipeline
from feedline.fixes.places import places
from feedline.job.tfdata.pipeline import Where
from feedline.report.patch import make
from tests.causes.build import BATCH, SLICES, part
from tests.cli.command import here
from tests.fixes.build import looked_at, proposed

ROOT = Path(feedline.__file__).parent
# These are also names of Dataset methods; which of them may stand where is the business
# of the ops' table. Keras has an argument `workers`, and `struct` a method `pack`.
ALSO_SOMETHING_ELSE = {"cache", "interleave", "pack", "prefetch", "workers"}


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


def test_every_fix_that_is_applied_or_proposed_has_a_test_file_of_its_own():
    for path in (ROOT / "fixes").glob("*/*.py"):
        text = path.read_text("utf-8")
        if path.parent.name in ("pipeline", "step", "advice") and "def propose" in text:
            here = Path(__file__).parent / path.parent.name / f"test_{path.name}"
            assert here.exists(), path.name


# ------------------------------------------------------- the example in CONTRIBUTING


@pytest.fixture
def example(tmp_path, monkeypatch):
    """The package with one file more."""
    text = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text("utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.S)
    (tmp_path / "deeper_prefetch.py").write_text(code, "utf-8")
    folders = [*pipeline.__path__, str(tmp_path)]
    monkeypatch.setattr(pipeline, "__path__", folders)
    fixes.all.cache_clear()
    yield fixes.all()["deeper-prefetch"]
    fixes.all.cache_clear()
    sys.modules.pop(f"{pipeline.__name__}.deeper_prefetch", None)


def test_one_file_makes_a_fix(example, tmp_path):
    done = here("explain", "deeper-prefetch")
    assert done.returncode == 0
    assert done.stdout.startswith("A prefetch holds more than one batch\n")
    assert example.kind == "pipeline"

    case = looked_at(SLICES, BATCH, part("prefetch", ahead=True, buffer_size=1))
    found = {each.edit.fix: each for each in fixes.proposals(case, ("exact",))}
    edit = found["deeper-prefetch"].edit
    changed = fixes.apply(case.pipeline, [edit])
    assert changed.root.args == {"buffer_size": -1}
    deep = looked_at(SLICES, BATCH, part("prefetch", ahead=True, buffer_size=-1))
    assert proposed("deeper-prefetch", deep) == []

    script = tmp_path / "train.py"
    line = "ds = tf.data.Dataset.range(9).prefetch(1)\n"
    script.write_text(f"import tensorflow as tf\n{line}", "utf-8")
    where = Where(str(script), 2, line)
    (made,) = case.pipeline.find("prefetch")
    mine = case.pipeline.swap(made, replace(made, where=where))
    text = make(places(mine, [edit], None), tmp_path).text
    assert "+ds = tf.data.Dataset.range(9).prefetch(tf.data.AUTOTUNE)" in text
