"""The registry and the pages that `feedline explain` prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from feedline import causes, fixes
from feedline.causes import Finding
from tests.causes.build import AHEAD, BATCH, SLICES, case
from tests.place import LIMIT

CAUSES = causes.all()
EXPECTED = [
    "serial-map",
    "per-element-map",
    "no-prefetch",
    "recomputed-every-epoch",
    "serial-read",
    "many-small-files",
    "slow-storage",
    "python-in-pipeline",
    "wide-transfer",
    "blocking-transfer",
    "host-device-pingpong",
    "host-augmentation",
    "shuffle-refill",
    "ordered-straggler",
    "frozen-randomness",
    "host-saturated",
    "small-batch",
    "retracing",
    "eager-step",
    "launch-overhead",
    "dense-embedding-update",
    "full-softmax",
    "accelerator-unseen",
    "chatty-callbacks",
    "host-sync",
    "starved-replicas",
    "misaligned-shapes",
    "precision",
    "slow-preparation",
    "slow-validation",
]
HEADINGS = ["What it is", "Why it is slow", "Example", "Use instead", "Fix"]


def section(page: str, heading: str) -> str:
    return page.partition(f"## {heading}\n")[2].partition("\n## ")[0]


def test_every_cause_is_registered_in_order():
    assert list(CAUSES) == sorted(EXPECTED)


@pytest.mark.parametrize("cause", CAUSES.values(), ids=CAUSES.keys())
def test_page(cause):
    assert re.findall(r"^## (.+)$", cause.page, re.M) == HEADINGS
    assert cause.title
    assert not cause.title.endswith(".")
    assert cause.page.startswith(cause.title + "\n\n## What it is")
    for heading in ("Example", "Use instead"):
        blocks = re.findall(r"```python\n(.*?)```", section(cause.page, heading), re.S)
        assert len(blocks) == 1
        compile(blocks[0], f"{cause.name}: {heading}", "exec")


@pytest.mark.parametrize("cause", CAUSES.values(), ids=CAUSES.keys())
def test_every_fix_is_explained_with_its_grade(cause):
    text = section(cause.page, "Fix")
    listed = dict(re.findall(r"^- `([a-z-]+)` \((\w+)", text, re.M))
    assert tuple(listed) == cause.fixes
    assert set(listed.values()) <= {"exact", "reordered", "numeric", "advice"}


@pytest.mark.parametrize("cause", CAUSES.values(), ids=CAUSES.keys())
def test_the_grades_are_those_of_the_fixs_own_page(cause):
    text = section(cause.page, "Fix")
    for name, stated in re.findall(r"^- `([a-z-]+)` \(([^)]*)\)", text, re.M):
        assert named(stated) == named(fixes.all()[name].page), name


def named(text):
    return {grade for grade in fixes.GRADES if re.search(rf"(?i)\b{grade}\b", text)}


def test_every_fix_that_a_cause_names_exists():
    named_by_causes = {name for cause in CAUSES.values() for name in cause.fixes}
    assert named_by_causes == set(fixes.all())  # and no fix is named by none


def test_tensorflow_is_not_needed():
    """Not to load the causes, and not to find one."""
    program = (
        "import sys; from tests.causes.build import *; "
        "found = case(SLICES, part('map', 60.0, name='f'), BATCH, AHEAD).names(); "
        "assert found[0] == 'serial-map', found; "
        "sys.exit('tensorflow' in sys.modules)"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", program], cwd=root, timeout=LIMIT)
    assert done.returncode == 0


def test_a_cause_that_fails_is_left_out_and_logged(monkeypatch, caplog):
    def broken(job, measured):
        yield Finding("serial-map", 1.0, "before it fails")
        raise ZeroDivisionError

    def nonsense(job, measured):
        yield Finding("no-prefetch", float("nan"), "a cost that is no number")

    some = dict(CAUSES)
    some["serial-map"] = causes.Cause("serial-map", "", "", (), broken)
    some["no-prefetch"] = causes.Cause("no-prefetch", "", "", (), nonsense)
    monkeypatch.setattr(causes, "all", lambda: some)
    job = case(SLICES, BATCH, AHEAD, step={"host_work": 9.0}, job={"kind": "loop"})
    assert job.names() == ["host-sync"]
    assert "the cause serial-map failed" in caplog.text
