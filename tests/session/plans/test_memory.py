"""What is kept of a run for the next: `session/plans/memory.py`."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from feedline.fixes.fix import Edit
from feedline.session.plans.memory import LastRun, Memory, Remembered
from tests.plans import somewhere

ALLOW = ("exact",)


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "train.py"
    path.write_text("fit()\n")
    return path


def memory(script, tmp_path, allow=ALLOW):
    return Memory([str(script)], allow, module=False, folder=tmp_path / "plans")


def plan(*edits, where="train.py:3"):
    return replace(somewhere(*edits), where=where)


CACHE = Edit("cache", 1, {"on_disk": False})


def test_it_recalls_what_was_remembered(script, tmp_path):
    known = Remembered(plan(CACHE), 3.5, 12.0)
    memory(script, tmp_path).remember([known])
    (found,) = memory(script, tmp_path).recall()
    assert (found.plan, found.spent_s, found.step_ms) == (known.plan, 3.5, 12.0)


def test_the_newest_plan_of_a_job_stands_in_the_place_of_the_older(script, tmp_path):
    memory(script, tmp_path).remember([Remembered(plan(CACHE))])
    memory(script, tmp_path).remember([Remembered(plan(), 9.0)])
    (found,) = memory(script, tmp_path).recall()
    assert found.plan.edits == ()


def test_other_lines_and_other_grades_are_apart(script, tmp_path):
    one = memory(script, tmp_path)
    one.remember([Remembered(plan(CACHE)), Remembered(plan(where="train.py:9"))])
    assert [each.plan.where for each in one.recall()] == ["train.py:9", "train.py:3"]
    assert memory(script, tmp_path, ("exact", "numeric")).recall() == ()


def test_it_tells_whether_the_source_is_the_same(script, tmp_path):
    memory(script, tmp_path).remember([Remembered(plan(CACHE))])
    assert [each.same_source for each in memory(script, tmp_path).recall()] == [True]
    script.write_text("fit()  # changed\n")
    assert [each.same_source for each in memory(script, tmp_path).recall()] == [False]


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"feedline_memory": 1}', b"\xff"]
)
def test_what_cannot_be_read_is_as_good_as_nothing(script, tmp_path, content):
    memory(script, tmp_path).remember([Remembered(plan(CACHE))])
    (file,) = (tmp_path / "plans").iterdir()
    file.write_bytes(content)
    assert memory(script, tmp_path).recall() == ()
    memory(script, tmp_path).remember([Remembered(plan(CACHE))])
    assert len(memory(script, tmp_path).recall()) == 1


def test_a_damaged_plan_among_others_is_passed_over(script, tmp_path):
    memory(script, tmp_path).remember(
        [Remembered(plan(CACHE)), Remembered(plan(where="train.py:9"))]
    )
    (file,) = (tmp_path / "plans").iterdir()
    data = json.loads(file.read_text())
    data["plans"][0]["plan"]["edits"] = "no list"
    file.write_text(json.dumps(data))
    assert [each.plan.where for each in memory(script, tmp_path).recall()] == [
        "train.py:3"
    ]


def test_a_folder_that_cannot_be_written_costs_nothing(script, tmp_path):
    (tmp_path / "plans").write_text("a file")
    memory(script, tmp_path).remember([Remembered(plan(CACHE))])
    assert memory(script, tmp_path).recall() == ()


def test_only_files_of_its_own_are_pruned(script, tmp_path, monkeypatch):
    monkeypatch.setattr("feedline.session.plans.memory._MOST_SCRIPTS", 1)
    folder = tmp_path / "plans"
    folder.mkdir()
    (folder / "notes.json").write_text("mine")
    (folder / f"{'a' * 40}.json").write_text("mine too")
    memory(script, tmp_path).remember([Remembered(plan(CACHE))])
    other = tmp_path / "other.py"
    other.write_text("")
    memory(other, tmp_path).remember([Remembered(plan(CACHE))])
    names = {each.name for each in folder.iterdir()}
    assert {"notes.json", f"{'a' * 40}.json"} < names
    assert len(names) == 3


@pytest.mark.parametrize(
    ("edits", "spent", "seconds", "final"),
    [
        ((CACHE,), 1.0, 60.0, True),
        ((), 5.0, 9.0, True),
        ((), 5.0, 11.0, False),
        ((), 0.1, 2.0, True),
    ],
)
def test_that_nothing_was_found_holds_for_as_little_time(edits, spent, seconds, final):
    assert Remembered(plan(*edits), spent).is_final(seconds) is final


def test_the_training_of_the_last_run_counts_only_for_the_same_source(script, tmp_path):
    memory(script, tmp_path).remember([], now=LastRun({"train.py:3": 2.0}))
    assert memory(script, tmp_path).last_run().trained_s == {"train.py:3": 2.0}
    (file,) = (tmp_path / "plans").iterdir()
    written = file.stat().st_mtime_ns
    memory(script, tmp_path).remember([], now=LastRun({"train.py:3": 2.1}))
    assert file.stat().st_mtime_ns == written
    memory(script, tmp_path).remember([], now=LastRun({"train.py:3": 20.0}))
    assert memory(script, tmp_path).last_run().trained_s == {"train.py:3": 20.0}
    script.write_text("fit()  # changed\n")
    assert memory(script, tmp_path).last_run() == LastRun()


def test_times_that_are_none_are_as_good_as_nothing(script, tmp_path):
    memory(script, tmp_path).remember([], now=LastRun({"train.py:3": 2.0}))
    (file,) = (tmp_path / "plans").iterdir()
    data = json.loads(file.read_text())
    file.write_text(
        json.dumps(data | {"last_run": {"trained_s": {"train.py:3": "long"}}})
    )
    assert memory(script, tmp_path).last_run() == LastRun()
