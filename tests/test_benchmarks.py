"""The benchmarks of the fixes start, count rightly, and survive what fails."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

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
    return subprocess.run(command, capture_output=True, text=True, timeout=550)


@pytest.mark.parametrize(
    "name", ["fixes", "predictions", "accelerator", "whatif", "monitor"]
)
def test_help_needs_no_tensorflow(name):
    program = (
        "import runpy, sys; sys.modules['tensorflow'] = None; "
        "sys.path.insert(0, sys.argv[1]); "
        "sys.argv = sys.argv[2:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    script = str(BENCHMARKS / f"{name}.py")
    command = [sys.executable, "-c", program, str(BENCHMARKS), script, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
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
        assert "not a tuned version" in ast.get_docstring(ast.parse(path.read_text()))
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
    row = {"example": "jpeg_files", "allow": "exact", "before_ms": 20.0}
    row |= {"after_ms": 10.0, "ceiling_ms": 9.0, "speedup": 2.0, "interval": [1.9, 2.1]}
    row |= {"grade": "exact", "applied": ["prefetch"], "fixes": [a_fix()]}
    row |= {"tuned": [{"exact": {"ms": 8.0}}, {"exact": {"ms": 10.0}}]}
    return row | changed


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
    fixes = module("fixes")
    tuned = [{"exact": {"ms": 8.0}, "numeric": {"ms": 2.0}}, {"exact": {"ms": 10.0}}]
    exact, both = a_row(tuned=tuned), a_row(tuned=tuned, allow="exact,numeric")
    for row in (exact, both):
        fixes.compare(row)
    assert (exact["hand_ms"], exact["hand_grade"]) == (9.0, "exact")
    assert (both["hand_ms"], both["hand_grade"]) == (2.0, "numeric")
    advised = a_row(tuned=[{"exact": {"ms": 8.0}, "advice": {"ms": 1.0}}])
    fixes.compare(advised)
    assert (advised["hand_ms"], advised["advice_ms"]) == (8.0, 1.0)
    failed = a_row(tuned=[{"exact": {"failed": "killed"}}])
    fixes.compare(failed)
    assert failed["hand_ms"] is failed["after_of_hand"] is None


def test_the_claims_name_what_does_not_hold(module, capsys):
    fixes = module("fixes")
    good = a_row(tuned=[{"exact": {"ms": 9.5}}])
    poor = a_row(tuned=[{"exact": {"ms": 4.0}}])
    slow = a_row(speedup=0.9, interval=[0.8, 1.0], tuned=[{"exact": {"ms": 10.0}}])
    bad = {"example": "conv_slow_map", "allow": "exact", "failed": "x" * 300}
    bad["tuned"] = []
    rows = [good, poor, slow, bad]
    for row in rows:
        fixes.compare(row)
    said = fixes.conclude(rows)
    assert not said["no_example_slower"]
    assert len(said["slower"]) == 1
    assert [each["reached"] for each in said["below_hand"]] == [0.4]
    assert [each["example"] for each in said["failed"]] == ["conv_slow_map"]
    fixes.show(rows, "exact")
    fixes.tell(said)
    table = capsys.readouterr().out.partition("\nNo example")[0]
    assert all(len(line) <= 80 for line in table.splitlines())
    assert "FAILED" in table


def test_a_script_that_fails_gives_a_row_with_the_reason(module, tmp_path, monkeypatch):
    fixes = module("fixes")
    (tmp_path / "broken.py").write_text("raise SystemExit('no data here')\n")
    monkeypatch.setattr(fixes, "EXAMPLES", tmp_path)
    monkeypatch.setattr(fixes, "TUNED", tmp_path / "tuned")
    (row,) = fixes.example("broken", ["exact"], 5.0, twice=False)
    assert "exit code" in row["failed"]
    assert "FAILED" in fixes.line(row)


def test_what_takes_too_long_is_ended(module, tmp_path):
    fixes = module("fixes")
    said = tmp_path / "said"
    program = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
    assert fixes.run([sys.executable, "-c", program], said, limit=3.0) is None
    with pytest.raises(ProcessLookupError):
        os.kill(int(said.read_text()), 0)
    assert fixes.reason(said.read_text(), None).startswith("took too long")


@pytest.mark.slow
@pytest.mark.tensorflow
def test_one_example_from_end_to_end(tmp_path):
    saved = tmp_path / "fixes.json"
    options = ["--quick", "--allow", "exact", "--only", "tfrecord_cache_wrong"]
    done = start(BENCHMARKS / "fixes.py", *options, "--json", str(saved))
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(saved.read_text())["rows"]
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
    (row,) = json.loads(saved.read_text())["rows"]
    assert "failed" not in row, done.stderr
    assert 0 < row["before"]["busy"] <= 1
    assert 0 < row["after"]["busy"] <= 1
