"""Scripts as users write them, run under the watch in this process.

A comment `#: name` marks a line that a test asks for by that name. The watch is
one object for the whole process, made anew for each script: TensorFlow can be
patched only once.
"""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from feedline.job import capture
from feedline.job.facts import job_of
from feedline.job.job import Job
from feedline.job.watch import ScriptStopped, Watch
from feedline.measure.clock import FakeClock, SystemClock

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
        """Each stage of the pipeline, with its line."""
        assert self.job is not None
        assert self.job.pipeline is not None
        return {
            stage.op: stage.where and stage.where.line
            for stage in self.job.pipeline.stages()
        }


_watch: list[Watch] = []


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
    on_warm: Callable[[Any], None] | None = None,
    **options: Any,
) -> Caught:
    """Run a script until one of its loops is warm (after three steps, unless
    told otherwise) and note what it is."""
    text = "".join(textwrap.dedent(part) for part in parts)
    path = folder / "train.py"
    path.write_text(text)

    def note(loop: Any) -> None:
        caught.loop = loop
        caught.job = job_of(loop, caught.watch, batch_size=None)
        if on_warm is not None:
            on_warm(loop)
        raise ScriptStopped

    options = {"patient": False, **options}
    caught = Caught(text, watching(clock or SystemClock(), note, **options))
    before = sys.argv[:], sys.path[:], sys.modules["__main__"], os.getcwd()
    try:
        caught.code = capture.run([str(path), *args], module=False, watch=caught.watch)
        caught.globals = dict(sys.modules["__main__"].__dict__)
    finally:
        sys.argv[:], sys.path[:], sys.modules["__main__"] = before[:3]
        os.chdir(before[3])
    return caught
