"""Training that was killed goes on, and ends with the same vectors."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from tests.words import planted

from feedline import words
from feedline.errors import OutputExists, TrainingError
from feedline.words.training import checkpoint
from feedline.words.training.driver import Driver
from feedline.words.training.loop import Leg

OPTIONS = {"dim": 24, "min_count": 1, "threads": 1}
EPOCHS = 8

# Its second checkpoint is half written, the matrices but not yet what speaks of them,
# when it says so and waits, however fast or slow it is.
PROGRAM = """
import json, sys
from feedline import words
from feedline.words.training import checkpoint, driver

replace, written = checkpoint._replace, []

def stop(path, data):
    if written:
        print("here", flush=True)
        sys.stdin.read()
    written.append(path)
    replace(path, data)

checkpoint._replace = stop
driver._SHARE = float("inf")  # however long it takes to write them
options = json.loads(sys.argv[3])
words.train(sys.argv[1], out=sys.argv[2], checkpoint_every=1e-9, **options)
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "corpus.txt"
    lines = planted.sentences(count=1500)
    text = "\n".join(" ".join(line) for line in lines) + "\n"
    path.write_text(text, encoding="utf-8")
    return path


@contextmanager
def training(corpus: Path, out: Path, **options):
    """A process that is amid its training and stays there; killed in the end."""
    command = [sys.executable, "-c", PROGRAM, str(corpus), str(out)]
    paths = os.pathsep.join(path for path in sys.path if path)
    with subprocess.Popen(
        [*command, json.dumps({**OPTIONS, **options})],
        env={**os.environ, "PYTHONPATH": paths},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            if process.stdout.readline().strip() != b"here":
                errors = process.stderr.read().decode("utf-8", "replace")
                pytest.fail(f"it ended too soon: {errors}")
            yield
        finally:
            process.send_signal(signal.SIGKILL)


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
        with training(corpus, out, resume=resume, **options):
            pass
        now = checkpoint.read(out / "training")
        assert now is not None
        assert before is None or (now.epoch, now.place) > before
        before = now.epoch, now.place
        assert not (out / "vectors.json").exists()
        # The one that was being written is there as well, and nothing speaks of it.
        assert len(list((out / "training").glob("*.safetensors"))) == 2
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
    assert epochs_noted(unfinished) == [1, 2, 3]


def epochs_noted(out: Path) -> list[int]:
    lines = (out / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["epoch"] for line in lines]


def test_resuming_otherwise_is_refused(corpus, unfinished):
    options = {**OPTIONS, "epochs": 3, "out": unfinished, "resume": True}
    before = checkpoint.read(unfinished / "training")
    with pytest.raises(TrainingError, match="window is 7, was 5"):
        words.train(corpus, window=7, **options)
    with pytest.raises(TrainingError, match="min_count is 2, was 1"):
        words.train(corpus, **{**options, "min_count": 2})
    with pytest.raises(TrainingError, match="lower is True, was False"):
        words.train(corpus, lower=True, **options)
    with pytest.raises(TrainingError, match="engine is 'reference', was 'cpu'"):
        words.train(corpus, engine="reference", **options)
    assert checkpoint.read(unfinished / "training") == before


def test_resuming_on_another_corpus_is_refused(corpus, unfinished, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("other words\n" * 50, encoding="utf-8")
    options = {**OPTIONS, "epochs": 3, "out": unfinished, "resume": True}
    with pytest.raises(TrainingError, match=r"other\.txt is new"):
        words.train(other, **options)
    # What the run had is untouched: it ends as it would have without the attempt.
    resumed = words.train(corpus, **options)
    whole = words.train(corpus, epochs=3, **OPTIONS)
    assert np.array_equal(resumed.matrix, whole.matrix)
    assert epochs_noted(unfinished) == [1, 2, 3]


def test_more_threads_may_finish_it(corpus, unfinished, monkeypatch):
    begun = checkpoint.read(unfinished / "training")
    legs = []
    run = Leg.run

    def noted(leg, threads, watch):
        legs.append((leg.epoch, threads))
        return run(leg, threads, watch)

    monkeypatch.setattr(Leg, "run", noted)
    options = {**OPTIONS, "epochs": 3, "threads": 2}
    vectors = words.train(corpus, out=unfinished, resume=True, **options)
    # It went on from the second epoch, with both.
    assert legs == [(1, 2), (2, 2)]
    assert epochs_noted(unfinished) == [1, 2, 3]
    losses = vectors.config["losses"]
    assert len(losses) == 3
    assert losses[0] == begun.state["losses"][0]
    assert losses[2] < losses[0]
    assert vectors.config["threads"] == 2
    assert np.isfinite(vectors.matrix).all()
    assert np.array_equal(words.load(unfinished).matrix, vectors.matrix)


@pytest.mark.parametrize("name", ["checkpoint.json", "*.safetensors"])
def test_a_damaged_checkpoint_is_found(corpus, unfinished, name):
    (path,) = (unfinished / "training").glob(name)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(TrainingError, match=r"is damaged.*Delete"):
        words.train(corpus, out=unfinished, resume=True, epochs=3, **OPTIONS)


def test_nothing_to_resume_starts_anew(corpus, tmp_path):
    out = tmp_path / "new"
    found = words.train(corpus, out=out, resume=True, epochs=1, **OPTIONS)
    whole = words.train(corpus, epochs=1, **OPTIONS)
    assert found.words == whole.words
    assert np.array_equal(found.matrix, whole.matrix)
    assert found.config["losses"] == whole.config["losses"]
    assert np.array_equal(words.load(out).matrix, whole.matrix)
    assert epochs_noted(out) == [1]


def test_two_runs_cannot_share_a_directory(corpus, tmp_path):
    out = tmp_path / "out"
    options = {"epochs": EPOCHS, "resume": True}
    with (
        training(corpus, out, **options),
        pytest.raises(TrainingError, match="another process is training into"),
    ):
        words.train(corpus, out=out, **OPTIONS, **options)
