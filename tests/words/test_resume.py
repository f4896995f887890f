"""Training that was killed goes on, and ends with the same vectors."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.words import planted

from feedline import words
from feedline.errors import OutputExists, TrainingError
from feedline.words import checkpoint
from feedline.words.driver import Driver

OPTIONS = {"dim": 24, "min_count": 1, "threads": 1}
# Long enough to be killed in the midst of it, more than once.
EPOCHS = 300

PROGRAM = """
import json, sys
from feedline import words
options = json.loads(sys.argv[3])
words.train(sys.argv[1], out=sys.argv[2], checkpoint_every=0.02, **options)
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "corpus.txt"
    lines = planted.sentences(count=1500)
    path.write_text("\n".join(" ".join(line) for line in lines) + "\n")
    return path


def started(corpus: Path, out: Path, **options) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", PROGRAM, str(corpus), str(out)]
    paths = os.pathsep.join(path for path in sys.path if path)
    return subprocess.Popen(
        [*command, json.dumps({**OPTIONS, **options})],
        env={**os.environ, "PYTHONPATH": paths},
        stderr=subprocess.PIPE,
    )


def wait_for_checkpoint(process: subprocess.Popen[bytes], out: Path, after=None):
    path = out / "training" / "checkpoint.json"
    for _ in range(2000):
        if process.poll() is not None:
            break
        if path.exists() and path.read_bytes() != after:
            return
        time.sleep(0.01)
    errors = process.stderr.read().decode() if process.stderr else ""
    pytest.fail(f"no checkpoint was written; exit {process.returncode}: {errors}")


@pytest.mark.parametrize(
    "options",
    [
        {"epochs": EPOCHS},
        {"epochs": EPOCHS, "model": "glove", "window": 3},
    ],
    ids=["skipgram", "glove"],
)
def test_killed_twice_and_resumed_ends_the_same(corpus, tmp_path, options):
    out = tmp_path / "killed"
    before = None
    for resume in (False, True):
        process = started(corpus, out, resume=resume, **options)
        wait_for_checkpoint(process, out, before)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stderr.close()
        before = (out / "training" / "checkpoint.json").read_bytes()
        assert not (out / "vectors.json").exists()
    found = words.train(corpus, out=out, resume=True, **OPTIONS, **options)
    whole = words.train(corpus, **OPTIONS, **options)
    assert np.array_equal(found.matrix, whole.matrix)
    assert found.config["losses"] == pytest.approx(whole.config["losses"])
    # Resuming what is finished gives it back.
    again = words.train(corpus, out=out, resume=True, **OPTIONS, **options)
    assert np.array_equal(again.matrix, whole.matrix)


@pytest.fixture
def unfinished(corpus, tmp_path, monkeypatch):
    """A directory whose run stopped after its first epoch, by an interrupt."""
    out = tmp_path / "out"
    run = Driver.run

    def interrupted(self):
        def stop(epoch):
            raise KeyboardInterrupt

        self.after_epoch = stop
        run(self)

    monkeypatch.setattr(Driver, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        words.train(corpus, out=out, epochs=3, **OPTIONS)
    monkeypatch.undo()
    return out


def test_an_interrupt_leaves_a_checkpoint(corpus, unfinished):
    found = checkpoint.read(unfinished / "training")
    assert found is not None
    assert (found.epoch, found.place) == (1, 0)
    with pytest.raises(OutputExists, match=r"did not end.*--resume"):
        words.train(corpus, out=unfinished, epochs=3, **OPTIONS)
    whole = words.train(corpus, epochs=3, **OPTIONS)
    resumed = words.train(corpus, out=unfinished, resume=True, epochs=3, **OPTIONS)
    assert np.array_equal(resumed.matrix, whole.matrix)
    lines = (unfinished / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == [1, 2, 3]


def test_resuming_otherwise_is_refused(corpus, unfinished):
    options = {**OPTIONS, "epochs": 3, "out": unfinished, "resume": True}
    with pytest.raises(TrainingError, match="window is 7, was 5"):
        words.train(corpus, window=7, **options)
    with pytest.raises(TrainingError, match="min_count is 2, was 1"):
        words.train(corpus, **{**options, "min_count": 2})
    with pytest.raises(TrainingError, match="lower is True, was False"):
        words.train(corpus, lower=True, **options)
    with pytest.raises(TrainingError, match="engine is 'reference', was 'cpu'"):
        words.train(corpus, engine="reference", **options)


def test_resuming_on_another_corpus_is_refused(corpus, unfinished, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("other words\n" * 50)
    options = {**OPTIONS, "epochs": 3, "out": unfinished, "resume": True}
    with pytest.raises(TrainingError, match=r"other\.txt was not part of it"):
        words.train(other, **options)
    # The text of the run is still there.
    words.train(corpus, **options)


def test_more_threads_may_finish_it(corpus, unfinished):
    options = {**OPTIONS, "epochs": 3, "threads": 2}
    words.train(corpus, out=unfinished, resume=True, **options)


@pytest.mark.parametrize("name", ["checkpoint.json", "*.safetensors"])
def test_a_damaged_checkpoint_is_found(corpus, unfinished, name):
    (path,) = (unfinished / "training").glob(name)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(TrainingError, match=r"is damaged.*Delete"):
        words.train(corpus, out=unfinished, resume=True, epochs=3, **OPTIONS)


def test_nothing_to_resume_starts_anew(corpus, tmp_path):
    words.train(corpus, out=tmp_path / "new", resume=True, epochs=1, **OPTIONS)


def test_two_runs_cannot_share_a_directory(corpus, tmp_path):
    out = tmp_path / "out"
    process = started(corpus, out, epochs=100_000)
    try:
        wait_for_checkpoint(process, out)
        with pytest.raises(TrainingError, match="another process trains into"):
            words.train(corpus, out=out, resume=True, epochs=100_000, **OPTIONS)
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
