"""Scripts as users write them, run under the watch in this process.

A comment `#: name` marks a line that a test asks for by that name. The watch is
one object for the whole process, made anew for each script: TensorFlow can be
patched only once. `python -m tests.job.scripts FILE...` does the same in a
process of its own and prints what was caught.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import textwrap
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.clock import FakeClock

from feedline.fixes.means.own_step.maker import OwnSteps
from feedline.job.job import Job
from feedline.job.loops.facts import job_of
from feedline.job.script import run as script
from feedline.job.script.watch import ScriptStopped, Watch
from feedline.measure.clock import SystemClock

MODEL = """\
import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(7)
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
"""
DATA = """\
def double(x):
    return tf.fill([3], tf.cast(x, tf.float32)), tf.cast(2 * x, tf.float32)

ds = tf.data.Dataset.range(160)  #: range
ds = ds.map(double)  #: map
ds = ds.batch(4)  #: batch
"""
STEP = """\
optimizer = keras.optimizers.SGD(0.01)

def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x)[:, 0] - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss
"""


class TickingClock(FakeClock):
    """A twentieth of a second goes by whenever somebody looks."""

    def now(self) -> float:
        self.time += 0.05
        return self.time


@dataclass
class Caught:
    """What the watch knew when a loop was warm, and how the script ended."""

    text: str
    watch: Watch
    job: Job | None = None
    loop: Any = None
    code: int | None = None
    globals: dict[str, Any] = field(default_factory=dict)

    def line(self, mark: str) -> int:
        """The number of the line that is marked so."""
        for number, line in enumerate(self.text.splitlines(), 1):
            if re.search(rf"#: .*\b{mark}\b", line):
                return number
        raise KeyError(mark)

    def stages(self) -> dict[str, int | None]:
        """Each stage of the pipeline, with its line in the script."""
        assert self.job is not None
        assert self.job.pipeline is not None
        return {stage.op: _line(stage.where) for stage in self.job.pipeline.stages()}

    def facts(self) -> dict[str, Any]:
        if self.job is None:
            return {"kind": None, "code": self.code}
        return {
            "kind": self.job.kind,
            "line": _line(self.job.where),
            "epochs": self.job.epochs,
            "steps": self.job.steps_per_epoch,
            "eager": self.job.eager,
            "step": _line(self.job.step_where),
            "replicas": self.job.replicas,
            "strategy": self.job.strategy,
            "stages": self.stages() if self.job.pipeline else {},
        }


def _line(where: Any) -> int | None:
    return where.line if where and Path(where.file).name == "train.py" else None


_watch: list[Watch] = []
UNSEEN: list[str] = []
"""What of TensorFlow and Keras could not be watched in this process."""


def watching(clock: Any, on_warm: Callable[[Any], None], **options: Any) -> Watch:
    """The process' only watch, as new."""
    if not _watch:
        _watch.append(Watch(clock, on_warm, **options))
    else:
        Watch.__init__(_watch[0], clock, on_warm, **options)
    return _watch[0]


def run(
    folder: Path,
    *parts: str,
    args: tuple[str, ...] = (),
    clock: Any = None,
    **options: Any,
) -> Caught:
    """Run a script until one of its loops is warm (after three steps, unless
    told otherwise) and note what it is."""
    text = "".join(textwrap.dedent(part) for part in parts)
    path = folder / "train.py"
    path.write_text(text, "utf-8")

    def note(loop: Any) -> None:
        caught.loop = loop
        caught.job = job_of(loop, caught.watch, batch_size=None)
        caught.watch.stopped = True
        raise ScriptStopped

    options = {"patient": False, "steps": OwnSteps(), **options}
    caught = Caught(text, watching(clock or SystemClock(), note, **options))
    before = sys.argv[:], sys.orig_argv[:], sys.path[:], sys.modules["__main__"]
    folder_before, hook = os.getcwd(), threading.excepthook
    try:
        caught.code = script.run([str(path), *args], module=False, watch=caught.watch)
        caught.globals = dict(sys.modules["__main__"].__dict__)
    finally:
        UNSEEN.extend(n for n in caught.watch.notes if "cannot watch here" in n)
        sys.argv[:], sys.orig_argv[:], sys.path[:], sys.modules["__main__"] = before
        os.chdir(folder_before)
        threading.excepthook = hook
    return caught


def main() -> None:
    found = {}
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            found[name] = run(Path(folder), Path(name).read_text("utf-8")).facts()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
