"""The benchmarks of the fixes start, count rightly, and survive what fails."""

from __future__ import annotations

import ast
import importlib.util
import itertools
import json
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from feedline.fixes import all as all_fixes
from tests.place import LIMIT, gone

ROOT = Path(__file__).resolve().parent.parent
BENCHMARKS = ROOT / "benchmarks"
TUNED = BENCHMARKS / "tuned"
OTHERS = ("_numeric", "_advice")
HELPERS = {"lazy_adam"}
EXAMPLES = {path.stem for path in (ROOT / "examples").glob("*.py")} - {"make_data"}


@pytest.fixture
def module(monkeypatch):
    """Loads a benchmark as if it had been started where it stands."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))

    def load(name):
        spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
        loaded = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, loaded)
        spec.loader.exec_module(loaded)
        return loaded

    return load


def start(script: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(script), *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", timeout=LIMIT
    )


@pytest.mark.parametrize(
    "name",
    [
        *("fixes", "predictions", "vocabulary", "accelerator", "whatif", "monitor"),
        "refused",
    ],
)
def test_help_needs_no_tensorflow(name):
    program = (
        "import runpy, sys; sys.modules['tensorflow'] = None; "
        "sys.path.insert(0, sys.argv[1]); "
        "sys.argv = sys.argv[2:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    script = str(BENCHMARKS / f"{name}.py")
    command = [sys.executable, "-c", program, str(BENCHMARKS), script, "--help"]
    done = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", timeout=LIMIT
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage:")


def test_every_example_has_a_version_by_hand():
    scripts = {path.stem for path in TUNED.glob("*.py")} - HELPERS
    assert scripts >= EXAMPLES
    others = {name for name in scripts - EXAMPLES if name.endswith(OTHERS)}
    assert {name.rpartition("_")[0] for name in others} <= EXAMPLES
    assert scripts == EXAMPLES | others


@pytest.mark.parametrize("path", sorted(TUNED.glob("*.py")), ids=lambda p: p.stem)
def test_a_version_by_hand_says_what_was_changed(path, module):
    if path.stem in HELPERS:
        assert "not a tuned version" in ast.get_docstring(
            ast.parse(path.read_text("utf-8"))
        )
        return
    fixes = module("fixes")
    assert fixes.stated(path, "Changed")
    last = path.stem.rpartition("_")[2]
    expected = last if path.stem.endswith(OTHERS) else "exact"
    assert fixes.stated(path, "Grade") == expected


def a_fix(**changed):
    row = {"fix": "prefetch", "grade": "exact", "applied": True}
    row |= {"predicted_gain": 1.5, "measured_gain": 2.0, "interval": [1.4, 2.2]}
    return row | changed


def a_row(**changed):
    row = {"example": "jpeg_files", "allow": "exact", "ceiling_ms": 9.0, "said": 2.0}
    row |= {"grade": "exact", "applied": ["prefetch"], "fixes": [a_fix()]}
    row |= {"steps_per_epoch": 100, "after": "after, exact"}
    return row | changed


def a_race(module, **seconds):
    """Names are written with `_` for what a word cannot hold."""
    pace = module("pace")
    race = pace.Race("jpeg_files", Path(), pace.Enough())
    race.seconds = {name.replace("_", ", "): took for name, took in seconds.items()}
    return race


def test_predictions_count_each_trial_once(module):
    predictions = module("predictions")
    together = a_fix(fix="cache")
    untried = a_fix(measured_gain=None, interval=None)
    alone = a_fix(fix="jit-compile", predicted_gain=3.0)
    rows = [a_row(fixes=[a_fix(), together, untried, alone]), a_row(fixes=None)]
    trials = predictions.tried(rows)
    assert [trial["fix"] for trial in trials] == ["prefetch + cache", "jit-compile"]
    assert [trial["error"] for trial in trials] == [0.25, 0.5]
    assert predictions.median_error(trials) == 0.375
    assert predictions.inside(trials) == 1
    assert predictions.median_error([]) is None


def test_by_hand_counts_the_best_that_is_allowed(module):
    race = a_race(
        module,
        before=[4.0, 6.0, 5.0],
        after_exact=[2.0, 1.5, None],
        hand_exact=[1.0, 1.0, 1.0],
        hand_numeric=[0.1, 0.1, 0.1],
        hand_advice=[0.01, 0.01, 0.01],
    )
    fixes = module("fixes")
    row = a_row()
    fixes.timed(row, race)
    assert (row["before_ms"], row["after_ms"], row["hand_ms"]) == (50.0, 17.5, 10.0)
    assert (row["speedup"], row["range"]) == (3.0, [2.0, 4.0])  # round by round
    assert row["ratios"] == [1.5, 2.0]
    assert row["advice_ms"] == pytest.approx(0.1)
    both = a_row(allow="exact,numeric", after="before", applied=[])
    fixes.timed(both, race)
    assert (both["hand_grade"], both["hand_ms"]) == ("numeric", 1.0)
    assert (both["speedup"], both["range"]) == (1.0, None)
    nothing = a_row()
    fixes.timed(nothing, a_race(module, before=[4.0], after_exact=[2.0]))
    assert nothing["hand_ms"] is nothing["after_of_hand"] is None


def test_the_claims_name_what_does_not_hold(module, capsys):
    fixes = module("fixes")
    good, poor, slow = a_row(), a_row(patched="patched"), a_row()
    bad = a_row(example="conv_slow_map", failed="x" * 300)
    for row, before, after in ((good, 2.0, 1.0), (poor, 9.0, 2.5), (slow, 0.9, 1.0)):
        took = {"before": [before], "after_exact": [after], "hand_exact": [1.0]}
        fixes.timed(row, a_race(module, **took, patched=[5.0]))
    fixes.timed(bad, a_race(module))
    rows = [good, poor, slow, bad]
    said = fixes.conclude(rows)
    assert not said["no_example_slower"]
    assert len(said["slower"]) == 1
    assert [each["reached"] for each in said["below_hand"]] == [0.4]
    assert [each["patched_of_after"] for each in said["patched"]] == [2.0]
    assert [each["example"] for each in said["failed"]] == ["conv_slow_map"]
    fixes.show(rows, "exact")
    fixes.tell(said)
    table = capsys.readouterr().out.partition("\nNo example")[0]
    assert all(len(line) <= 80 for line in table.splitlines())
    assert "FAILED" in table


def test_a_script_that_fails_gives_a_row_with_the_reason(module, tmp_path, monkeypatch):
    fixes, pace = module("fixes"), module("pace")
    program = "epochs=1\nraise SystemExit('no data here')\n"
    (tmp_path / "broken.py").write_text(program, "utf-8")
    monkeypatch.setattr(fixes, "EXAMPLES", tmp_path)
    monkeypatch.setattr(fixes, "TUNED", tmp_path / "tuned")
    (row,) = fixes.example("broken", ["exact"], 5.0, 1, pace.Enough(1, 0.0, 1.0))
    assert "exit code" in row["failed"]
    assert "FAILED" in fixes.line(row)


def test_epochs_are_timed_by_what_a_script_says(module, tmp_path):
    pace = module("pace")
    # The first line is seen at 0, the next 1 s later, the one after that 2 s later.
    stamps = itertools.accumulate(itertools.count())
    pace.time = SimpleNamespace(
        perf_counter=lambda: next(stamps), monotonic=time.monotonic
    )
    program = (
        "for epoch in range(3):\n"
        "    print('Epoch 1/3'); print(f'epoch {epoch}: loss 1')\n"
    )
    script, folder = tmp_path / "quick.py", tmp_path / "copies"
    script.write_text(program, "utf-8")
    copied = pace.copy(script, folder)
    assert f"range({pace.EPOCHS})" in copied.read_text("utf-8")
    command = [sys.executable, str(copied)]
    took = pace.epochs(command, tmp_path / "said", pace.Enough(4, 0.0, 60.0))
    assert took == [1, 2, 3, 4]
    assert pace.steps(tmp_path / "said") is None
    said = "Epoch 1/9\n63/63 - 2s - loss: 1.0\nbye\n"
    (tmp_path / "said").write_text(said, "utf-8")
    assert pace.steps(tmp_path / "said") == 63
    script.write_text("print('nothing to see')\n", "utf-8")
    command = [sys.executable, str(script)]
    with pytest.raises(pace.Failed, match="exit code 0; nothing to see"):
        pace.epochs(command, tmp_path / "said", pace.Enough())


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_every_script_can_be_made_longer(module, tmp_path, name):
    fixes, pace = module("fixes"), module("pace")
    scripts = [ROOT / "examples" / f"{name}.py", *fixes.versions(name).values()]
    for number, script in enumerate(scripts):
        copied = pace.copy(script, tmp_path / str(number), pace.LESS.get(name))
        lines = copied.read_text("utf-8").splitlines()
        assert len(lines) == len(script.read_text("utf-8").splitlines())


def test_a_vocabulary_is_compared_with_the_smallest(module, capsys):
    race = a_race(
        module,
        before_1000=[0.4, 0.5],
        before_500000=[20.0, 30.0],
        after_500000=[0.5, 0.5],
    )
    vocabulary = module("vocabulary")
    applied = ["row-sparse-embedding", "steps-per-execution"]
    rows = [
        {"words": 1000, "after": "before, 1000", "applied": []},
        {"words": 500000, "after": "after, 500000", "applied": applied},
    ]
    found = [vocabulary.timed(row, race, "before, 1000") for row in rows]
    assert (found[0]["speedup"], found[0]["of_smallest"]) == (1.0, 1.0)
    assert (found[1]["speedup"], found[1]["range"]) == (50.0, [40.0, 60.0])
    assert (found[1]["before_ms"], found[1]["of_smallest"]) == (250.0, 1.125)
    assert [ok for _, ok in vocabulary.targets("sgd", found)] == [True, True]
    vocabulary.show("sgd", found)
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80
    race.failed["after, 500000"] = "exit code 1"
    with pytest.raises(vocabulary.Failed, match="exit code 1"):
        vocabulary.timed(rows[1], race, "before, 1000")


def test_every_refusal_says_what_it_costs_and_how_to_win_it_back(module, tmp_path):
    refused, pace = module("refused"), module("pace")
    known = set(all_fixes())
    assert len(refused.names()) >= 10
    for name in refused.names():
        assert refused.stated(name, "Left")
        assert refused.stated(name, "Back")
        assert refused.stated(name, "Fix") in known
        plain = pace.copy(refused.REFUSED / f"{name}.py", tmp_path).read_text("utf-8")
        changed = refused.by_hand(plain)
        assert changed.count("\n") == plain.count("\n")
        compile(changed, name, "exec")


def test_a_refusal_that_was_won_back_is_told(module):
    refused = module("refused")
    row = {"case": "x", "Fix": "cache", "applied": ["cache"]}
    row |= {"gain": 2.0, "range": [1.9, 2.1]}
    assert refused.line(row).split()[2:] == ["no", "2.0x", "1.9", "to", "2.1"]
    assert refused.line({**row, "applied": []}).split()[2] == "yes"


def test_what_takes_too_long_is_ended(module, tmp_path):
    pace = module("pace")
    said = tmp_path / "said"
    program = "import os, time; print(os.getpid(), flush=True); time.sleep(6000)"
    for limit in (0.5, 4.0, 32.0, 256.0):  # until it has had the time to begin
        assert pace.finish([sys.executable, "-c", program], said, limit) is None
        if said.read_text("utf-8"):
            break
    assert gone(int(said.read_text("utf-8")))
    assert pace.reason(said.read_text("utf-8"), None).startswith("took too long")


@pytest.mark.slow
@pytest.mark.tensorflow
def test_one_example_from_end_to_end(tmp_path):
    saved = tmp_path / "fixes.json"
    options = ["--quick", "--allow", "exact", "--only", "tfrecord_cache_wrong"]
    done = start(BENCHMARKS / "fixes.py", *options, "--json", str(saved))
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(saved.read_text("utf-8"))["rows"]
    assert "failed" not in row, done.stderr
    assert row["hand_ms"] > 0
    again = start(BENCHMARKS / "predictions.py", str(saved))
    assert again.returncode == 0, again.stderr


@pytest.mark.slow
@pytest.mark.tensorflow
def test_the_emulated_accelerator(tmp_path):
    saved = tmp_path / "rows.json"
    options = ["--quick", "--seconds", "8", "--only", "images_tfrecord", "--wait", "20"]
    done = start(BENCHMARKS / "accelerator.py", *options, "--json", str(saved))
    assert done.returncode == 0, done.stderr
    assert "emulated" in done.stdout
    (row,) = json.loads(saved.read_text("utf-8"))["rows"]
    assert "failed" not in row, done.stderr
    assert 0 < row["before"]["busy"] <= 1
    assert 0 < row["after"]["busy"] <= 1
