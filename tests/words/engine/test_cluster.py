"""Several processes on this machine train together, as several machines would."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest
from tests.words import planted

from feedline import words

pytest.importorskip("tensorflow")
pytestmark = [pytest.mark.tensorflow, pytest.mark.slow]

OPTIONS = ["--dim", "24", "--min-count", "1", "--sample", "0", "--threads", "1"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "corpus.txt"
    lines = planted.sentences(count=3000)
    text = "\n".join(" ".join(line) for line in lines) + "\n"
    path.write_text(text, encoding="utf-8")
    return path


def addresses(count: int) -> list[str]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("localhost", 0))
    found = [f"localhost:{one.getsockname()[1]}" for one in sockets]
    for one in sockets:
        one.close()
    return found


class Cluster:
    """Worker processes of `feedline words train`."""

    def __init__(self, corpus, out, count, epochs):
        self.out = out
        out.mkdir()
        self.file = out / "cluster.json"
        workers = {"cluster": {"worker": addresses(count)}}
        self.file.write_text(json.dumps(workers), encoding="utf-8")
        self.command = [sys.executable, "-m", "feedline", "words", "train"]
        self.command += [str(corpus), "-o", str(out / "vectors"), *OPTIONS]
        self.command += ["--engine", "tensorflow", "--cluster", str(self.file)]
        self.command += ["--epochs", str(epochs), "--checkpoint", "0.5"]
        self.workers = [self.start(number) for number in range(count)]

    def start(self, number, *more):
        paths = os.pathsep.join(path for path in sys.path if path)
        with (self.out / f"worker-{number}.log").open("ab") as log:
            return subprocess.Popen(
                [*self.command, "--worker", str(number), *more],
                env={**os.environ, "PYTHONPATH": paths, "TF_CPP_MIN_LOG_LEVEL": "2"},
                stdout=log,
                stderr=log,
            )

    def wait(self):
        for worker in self.workers:
            assert worker.wait(500) == 0, self.logs()

    def logs(self, most=2500):
        """The end of what each worker said."""
        return "\n".join(
            path.read_text("utf-8", "replace")[-most:]
            for path in sorted(self.out.glob("worker-*.log"))
        )

    def wait_for_checkpoint(self):
        path = self.out / "vectors" / "training" / "checkpoint.json"
        for _ in range(4000):
            if path.exists():
                return
            assert all(worker.poll() is None for worker in self.workers), self.logs()
            time.sleep(0.1)
        pytest.fail(f"no checkpoint: {self.logs()}")

    def end(self):
        for worker in self.workers:
            if worker.poll() is None:
                worker.kill()
                worker.wait()


@pytest.mark.parametrize("count", [2, 3])
def test_machines_train_as_one(corpus, tmp_path, count):
    cluster = Cluster(corpus, tmp_path / "run", count, epochs=4)
    try:
        cluster.wait()
    finally:
        cluster.end()
    alone = words.train(
        corpus,
        dim=24,
        min_count=1,
        sample=0.0,
        threads=1,
        epochs=4,
        engine="tensorflow",
    )
    vectors = words.load(tmp_path / "run" / "vectors")
    assert planted.solved(vectors) == pytest.approx(planted.solved(alone), abs=0.05)
    if count == 2:
        assert vectors.matrix == pytest.approx(alone.matrix, abs=2e-3)


@pytest.mark.parametrize("lost", [0, 1], ids=["chief", "worker"])
def test_a_killed_worker_comes_back(corpus, tmp_path, lost):
    cluster = Cluster(corpus, tmp_path / "run", 2, epochs=40)
    try:
        cluster.wait_for_checkpoint()
        cluster.workers[lost].send_signal(signal.SIGKILL)
        cluster.workers[lost].wait()
        cluster.workers[lost] = cluster.start(lost, "--resume")
        cluster.wait()
    finally:
        cluster.end()
    vectors = words.load(tmp_path / "run" / "vectors")
    assert planted.solved(vectors) >= 0.9
    assert len(vectors.config["losses"]) == 40
    assert "Starting again" in cluster.logs(most=10**6)  # TensorFlow says much after it
