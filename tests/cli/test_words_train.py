"""`feedline words train`, as a user runs it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from tests.cli.command import feedline
from tests.words import planted

QUICK = ("--dim", "16", "--epochs", "2", "--min-count", "1")


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.txt"
    lines = planted.sentences(count=400)
    path.write_text("\n".join(" ".join(line) for line in lines) + "\n")
    return path


def test_help_teaches_in_80_columns():
    done = feedline("words", "train", "--help")
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
    offered = done.stdout.splitlines()[-1].removeprefix("Try: feedline ").split()
    assert feedline(*offered).returncode == 0
    assert (out / "vectors.json").exists()
    assert (out / "metrics.jsonl").exists()


def test_standard_input_and_quiet(corpus, tmp_path):
    out = tmp_path / "vectors"
    done = feedline(
        "words", "train", "-", "-o", str(out), "-q", *QUICK, input=corpus.read_text()
    )
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
    done = feedline("words", "train", str(corpus), "-o", out, *QUICK, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_corpus(tmp_path):
    done = feedline(
        "words", "train", str(tmp_path / "no.txt"), "-o", str(tmp_path / "o")
    )
    assert done.returncode == 2
    assert "no.txt" in done.stderr


def test_interrupted_it_says_how_to_go_on(corpus, tmp_path):
    out = tmp_path / "out"
    common = ["words", "train", str(corpus), "-o", str(out), "--dim", "16"]
    common += ["--min-count", "1", "--threads", "1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "feedline", *common, "--epochs", "50000"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )
    metrics = out / "metrics.jsonl"
    for _ in range(3000):
        if metrics.exists() and metrics.read_text().count("\n") > 2:
            break
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "--resume" in errors
    assert "Traceback" not in errors
    place = json.loads((out / "training" / "checkpoint.json").read_text())
    assert place["epoch"] >= 1
    other = feedline(*common, "--epochs", "3", "--resume")
    assert other.returncode == 2
    assert "epochs is 3, was 50000" in other.stderr
    # The same run, shortened by its own checkpoint, goes on when told the same.
    held = feedline(*common, "--epochs", "50000")
    assert held.returncode == 2
    assert "--resume" in held.stderr
