"""The gallery's entries are read, its scripts are made, and its table is right."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("tomllib")

ROOT = Path(__file__).resolve().parent.parent
BENCHMARKS = ROOT / "benchmarks"


@pytest.fixture
def real(monkeypatch):
    """The parts of the gallery, as `benchmarks/gallery.py` imports them."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))

    def load(name):
        return importlib.import_module(f"real.{name}")

    yield load
    for name in [name for name in sys.modules if name.split(".")[0] == "real"]:
        del sys.modules[name]


@pytest.fixture
def entry(real):
    return real("entries").Entry(
        name="made-up",
        repository="someone/thing",
        path="train.py",
        licence="MIT",
        digest="[weights]",
        truth="Made up.",
        cause=("serial-map",),
        commit="0" * 40,
    )


def repository(folder: Path, files: dict[str, str]) -> str:
    """A git repository with one commit, which is returned."""
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "files"]):
        subprocess.run([*git, *command], check=True, capture_output=True)
    done = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True)
    return done.stdout.decode().strip()


def test_every_entry_names_what_exists(real):
    from feedline import causes

    known = set(causes.all())
    makers = real("data").MAKERS
    for entry in real("entries").load().values():
        assert set(entry.cause) <= known, entry.name
        assert not entry.data or entry.data in makers, entry.name
        assert entry.licence, entry.name
        compile(f"({entry.digest})", entry.name, "eval")
        for changes in (entry.shrink, entry.by_hand, entry.by_hand_numeric):
            assert all(old != new for old, new in changes), entry.name


def test_an_entry_with_an_unknown_key_is_refused(real, tmp_path):
    entries = real("entries")
    path = tmp_path / "gallery.toml"
    path.write_text('[[script]]\nname = "a"\ncolour = "red"\n', encoding="utf-8")
    with pytest.raises(entries.BadEntry, match=r"a: unknown keys .'colour'"):
        entries.load(path)


def test_a_notebook_becomes_a_script(real):
    cells = [
        {"cell_type": "markdown", "source": ["# Title"]},
        {"cell_type": "code", "source": ["!pip install x\n", "a = 1\n"]},
        {"cell_type": "code", "source": "if a:\n    %matplotlib inline\n"},
        {"cell_type": "code", "source": "%%bash\nrm file\n"},
        {"cell_type": "code", "source": "%%time\nb = a + 1\n"},
    ]
    script = real("source").script_of(json.dumps({"cells": cells}))
    names: dict[str, object] = {}
    exec(script, names)
    assert (names["a"], names["b"]) == (1, 2)
    assert "rm file" not in script


def test_replacements_match_exactly_once(real, tmp_path):
    source = real("source")
    text = "epochs = 10\nopen('data.csv')\n"
    changes = (("epochs = 10", "epochs = 2"), ("'data.csv'", "'{data}/data.csv'"))
    made = source.replaced(text, changes, tmp_path, "x")
    assert made == f"epochs = 2\nopen('{tmp_path}/data.csv')\n"
    with pytest.raises(source.NoMatch, match=r"replacement 1 must match once.*0 times"):
        source.replaced(text, (("steps", "1"),), tmp_path, "x")
    with pytest.raises(source.NoMatch, match="2 times"):
        source.replaced("aa", (("a", "b"),), tmp_path, "x")


def test_a_script_is_taken_from_its_repository_and_seeded(real, entry, tmp_path):
    source = real("source")
    files = {
        "train.py": "from __future__ import division\nfrom other import two\n"
        "weights = [two] * 100\nrest = 1 / 0\n",
        "other.py": "two = 2.0\n",
    }
    commit = repository(tmp_path / "someone" / "thing", files)
    entry = replace(
        entry,
        commit=commit,
        also=("other.py",),
        until="rest =",
        shrink=(("* 100", "* 3"),),
        by_hand=(("[two] * 3", "[2.0, 2.0, 2.0]"),),
    )
    made = source.make(entry, tmp_path, tmp_path / "scripts", tmp_path)
    assert made.hand_numeric is None
    digests = []
    for path in (made.plain, made.hand):
        text = path.read_text(encoding="utf-8")
        assert text.startswith(source.SEED)
        path.write_text(text.removeprefix(source.SEED), encoding="utf-8")
        done = subprocess.run([sys.executable, path], capture_output=True, text=True)
        digests.append(real("running").digest_of(done.stdout))
    assert digests[0]
    assert digests[0] == digests[1]


def test_a_missing_repository_is_named_with_the_command(real, entry, tmp_path):
    source = real("source")
    with pytest.raises(source.Missing, match=r"git clone --mirror https://\S+/thing"):
        source.make(entry, tmp_path, tmp_path / "scripts", tmp_path)


def test_times_and_progress_are_not_compared(real):
    comparable = real("running").comparable
    one = (
        "Epoch 1/2\n\x1b[1m 1/10\x1b[0m ━━━━ 1:03 4s/step - loss: 9.0\n"
        " 7/10 ━━━━ 0s 2ms/step - loss: 5.0\nSaved.\n"
        "10/10 ━━━━ 2s 3ms/step - loss: 4.0\n"
        "Epoch took 3.5\nTest: 1.0\n"
    )
    two = (
        "Epoch 1/2\n 3/10 ━━━━ 0s 4ms/step - loss: 8.0\nSaved.\n"
        "10/10 ━━━━━━ 1s 2ms/step - loss: 4.0\n10/10 ━━━━━━ 1s 2ms/step - loss: 4.0\n"
        "Epoch took 1.5\nTest: 1.0\n"
    )
    ignore = ("^Epoch took",)
    assert comparable(one, ignore) == comparable(two, ignore)
    assert comparable(one, ignore) != comparable(two.replace("4.0", "4.1"), ignore)


def run(seconds, digest="a", shown="s", code=0, **more):
    return {"seconds": seconds, "digest": digest, "shown": shown, "code": code, **more}


def watched(seconds, causes=("serial-map",), **more):
    return run(seconds, report=True, causes=list(causes), bound="input", **more)


def runs(**kinds):
    every = ("plain", "first", "second", "why", "hand", "hand_numeric")
    return {kind: kinds.get(kind, []) for kind in every}


def test_the_table_counts_rightly(real, entry):
    table = real("table")
    good = table.row(
        entry,
        runs(
            plain=[run(30.0)],
            first=[watched(32.0)],
            second=[watched(20.0, fixes=["parallel-map"])],
            hand=[run(10.0)],
        ),
    )
    bad = table.row(
        replace(entry, name="other", cause=()),
        runs(
            plain=[run(20.0)],
            first=[watched(40.0, digest="b")],
            second=[watched(25.0)],
        ),
    )
    assert good.share() == 0.5
    assert (good.right, good.same, good.output) == (True, True, True)
    assert (bad.right, bad.same) == (False, False)
    text = "\n".join(table.totals([good, bad]))
    assert "first cause right: 1 of 2; not other" in text
    assert "same digest: 1 of 2; not other" in text
    assert "first run at most 10 % + 3 s slower: 1 of 2; not other" in text
    assert "not slower (2 % for noise): 1 of 2; not other" in text
    assert "median of 1 scripts where by hand gains 1.5 x: 50%" in text
    assert max(map(len, table.lines([good, bad]))) <= 120


def test_a_script_that_does_not_repeat_itself_has_no_digest_to_keep(real, entry):
    table = real("table")
    row = table.row(
        entry,
        runs(plain=[run(9.0, "a"), run(9.0, "b")], first=[watched(9.0, digest="c")]),
    )
    assert row.same is None


def test_nothing_found_is_right_where_the_step_computes(real, entry):
    table = real("table")
    entry = replace(entry, cause=())
    row = table.row(entry, runs(plain=[run(9.0)], first=[watched(9.0, causes=())]))
    assert row.right is True
    lost = run(9.0, report=False)
    assert table.row(entry, runs(plain=[run(9.0)], first=[lost])).right is False


def test_results_are_kept_until_the_script_changes(real, tmp_path):
    kept = real("results").Results(tmp_path / "results.json")
    kept.of("a", "text")
    kept.add("a", "plain", run(3.0))
    again = real("results").Results(tmp_path / "results.json")
    assert again.of("a", "text")["plain"][0]["seconds"] == 3.0
    assert again.of("a", "another text")["plain"] == []


def test_help_needs_no_tensorflow():
    done = subprocess.run(
        [sys.executable, BENCHMARKS / "gallery.py", "--help"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    assert "gallery.toml" in done.stdout
