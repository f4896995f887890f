"""`feedline words train`, as a user runs it."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys

import pytest

from tests.cli.command import feedline, here
from tests.place import LIMIT, wait_until
from tests.words import planted

QUICK = ("--dim", "16", "--epochs", "2", "--min-count", "1")


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.txt"
    lines = planted.sentences(count=400)
    path.write_text("\n".join(" ".join(line) for line in lines) + "\n", "utf-8")
    return path


def test_help_teaches_in_80_columns():
    done = here("words", "train", "--help")
    assert done.returncode == 0
    assert max(len(line) for line in done.stdout.splitlines()) <= 80
    for part in ("Examples:", "--resume", "--model", "--min-n", "-o, --out"):
        assert part in done.stdout


def test_help_needs_no_numbers():
    program = (
        "import sys\n"
        "from feedline.cli.main import app\n"
        "import feedline.cli.words\n"
        "assert not {'numpy', 'numba'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_trains_and_says_what_to_try(corpus, tmp_path):
    out = tmp_path / "vectors"
    done = feedline("words", "train", str(corpus), "-o", str(out), *QUICK)
    assert done.returncode == 0, done.stderr
    assert re.search(r"words, dimension 16, 2 epochs", done.stdout)
    assert re.search(r"[\d,]+ words/s on \d+ threads", done.stdout)
    # The command that it offers works.
    offered = done.stdout.splitlines()[-1].removeprefix("Try: feedline ")
    assert here(*shlex.split(offered)).returncode == 0
    assert (out / "vectors.json").exists()
    assert (out / "metrics.jsonl").exists()


def test_standard_input_and_quiet(corpus, tmp_path):
    out = tmp_path / "vectors"
    text = corpus.read_text("utf-8")
    done = feedline("words", "train", "-", "-o", str(out), "-q", *QUICK, input=text)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--dim", "0"), "dim is 0"),
        (("--min-n", "3"), "give both"),
        (("--min-count", "1000000"), "no word is left"),
        (("--start", "nowhere"), "nowhere"),
    ],
)
def test_bad_input_is_one_line(corpus, tmp_path, arguments, message):
    out = str(tmp_path / "o")
    done = here("words", "train", str(corpus), "-o", out, *QUICK, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_corpus(tmp_path):
    done = here("words", "train", str(tmp_path / "no.txt"), "-o", str(tmp_path / "o"))
    assert done.returncode == 2
    assert "no.txt" in done.stderr


def test_interrupted_it_says_how_to_go_on(corpus, tmp_path):
    out = tmp_path / "out"
    common = ["words", "train", str(corpus), "-o", str(out), "--dim", "16"]
    common += ["--min-count", "1", "--threads", "1"]
    started = subprocess.Popen(
        [sys.executable, "-m", "feedline", *common, "--epochs", "50000"],
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )
    metrics = out / "metrics.jsonl"

    def on_its_way():
        assert started.poll() is None, started.stderr.read()
        return metrics.exists() and metrics.read_text("utf-8").count("\n") > 2

    assert wait_until(on_its_way)
    started.send_signal(signal.SIGINT)
    _, errors = started.communicate(timeout=LIMIT)
    assert started.returncode == 130
    assert "--resume" in errors
    assert "Traceback" not in errors
    place = json.loads((out / "training" / "checkpoint.json").read_text("utf-8"))
    assert place["epoch"] >= 1
    other = here(*common, "--epochs", "3", "--resume")
    assert other.returncode == 2
    assert "epochs is 3, was 50000" in other.stderr
    # The same run, shortened by its own checkpoint, goes on when told the same.
    held = here(*common, "--epochs", "50000")
    assert held.returncode == 2
    assert "--resume" in held.stderr
