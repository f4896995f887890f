"""Measures why a script is slow, without feedline: what an entry's truth rests on.

Runs the script to its end with `Model.fit` wrapped. Each `fit` is timed, and each of
its steps. After the first that is long enough, three things more are measured: the same
step on one kept batch (the ceiling), the same with 32 steps a launch, and the input
read alone. A script with a loop of its own is only timed as a whole.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

START = "GALLERY_START"
LEAST = 10


def measured(script: Path, folder: Path, arguments: tuple[str, ...] = ()) -> str:
    """What was measured, as one line of JSON."""
    from real.running import ENVIRONMENT, digest_of

    folder.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, **ENVIRONMENT, START: repr(time.time())}
    here = str(Path(__file__).resolve())
    command = [sys.executable, here, str(script), *arguments]
    start = time.perf_counter()
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    found: dict[str, object] = {
        "code": done.returncode,
        "whole_s": round(time.perf_counter() - start, 1),
        "digest": digest_of(done.stdout)[:8],
        "fits": [],
    }
    if done.returncode:
        found["error"] = done.stderr[-800:]
    for line in done.stdout.splitlines():
        if line.startswith("TRUTH "):
            found["fits"].append(json.loads(line.removeprefix("TRUTH ")))
    return json.dumps(found)


def child(script: str) -> None:
    import runpy

    import keras

    fit = keras.Model.fit
    began = float(os.environ[START])
    asked: list[bool] = []

    def watched(self, *args, **kwargs):
        times = Steps(keras)
        given = kwargs.get("callbacks") or []
        given = given if isinstance(given, list) else [given]
        start = time.time()
        done = fit(self, *args, **{**kwargs, "callbacks": [*given, times.callback]})
        report = {
            "before_s": round(start - began, 1),
            "fit_s": round(time.time() - start, 1),
            **times.report(),
        }
        if not asked and len(times.ends) >= LEAST:
            asked.append(True)
            try:
                report |= ceiling(self, fit, args, kwargs)
            except Exception as error:
                report["ceiling"] = str(error)[:200]
        print("\nTRUTH", json.dumps(report), flush=True)
        return done

    keras.Model.fit = watched
    sys.argv = [script, *sys.argv[2:]]
    sys.path[0] = str(Path(script).parent)
    runpy.run_path(script, run_name="__main__")


class Steps:
    """Notes when each step begins and ends."""

    def __init__(self, keras) -> None:
        self.ends: list[float] = []
        self.epochs: list[list[float]] = []
        outer = self

        class Note(keras.callbacks.Callback):
            def on_epoch_begin(self, epoch, logs=None):  # noqa: ARG002
                outer.epochs.append([time.time(), time.time()])

            def on_epoch_end(self, epoch, logs=None):  # noqa: ARG002
                outer.epochs[-1][1] = time.time()

            def on_train_batch_end(self, batch, logs=None):  # noqa: ARG002
                outer.ends.append(time.time())

        self.callback = Note()

    def report(self) -> dict[str, object]:
        laps = [b - a for a, b in zip(self.ends, self.ends[1:], strict=False)]
        if not laps:
            return {"steps": len(self.ends)}
        steps = len(self.ends) // max(1, len(self.epochs))
        firsts = [laps[i - 1] for i in range(steps, len(laps), steps)] if steps else []
        return {
            "steps": len(self.ends),
            "epochs_s": [round(end - start, 2) for start, end in self.epochs][:5],
            "first_step_s": round(self.ends[0] - self.epochs[0][0], 2),
            "step_ms": round(1e3 * statistics.median(laps), 2),
            "mean_ms": round(1e3 * sum(laps) / len(laps), 2),
            "between_epochs_ms": [round(1e3 * lap) for lap in firsts][:5],
        }


def ceiling(model, fit, args, kwargs) -> dict[str, object]:
    """The step on one batch, one and 32 a launch, and the input alone."""
    import tensorflow as tf

    found: dict[str, object] = {}
    batch = _batch(args, kwargs, found)
    if isinstance(batch, tuple) and len(batch) == 1:
        batch = batch[0]
    fixed = tf.data.Dataset.from_tensors(batch).repeat()
    launch = model.steps_per_execution
    for name, steps_a_launch in (("ceiling_ms", 1), ("ceiling_32_ms", 32)):
        model.steps_per_execution = steps_a_launch
        model.train_function = None
        fit(model, fixed, steps_per_epoch=32, epochs=1, verbose=0)
        start = time.time()
        fit(model, fixed, steps_per_epoch=96, epochs=1, verbose=0)
        found[name] = round(1e3 * (time.time() - start) / 96, 2)
    model.steps_per_execution = launch
    model.train_function = None
    return found


def _batch(args, kwargs, found):
    """One batch of what `fit` was given; how long one takes, where it is a stream."""
    import tensorflow as tf

    x = args[0] if args else kwargs.get("x")
    y = args[1] if len(args) > 1 else kwargs.get("y")
    size = kwargs.get("batch_size") or (args[2] if len(args) > 2 else 32)
    if y is not None or hasattr(x, "shape") or isinstance(x, (list, dict)):
        first = tf.nest.map_structure(lambda array: array[:size], (x, y))
        return first[:1] if y is None else first
    if isinstance(x, tf.data.Dataset):
        source = iter(x.take(300))
    elif hasattr(x, "__getitem__"):
        source = (x[index] for index in range(min(len(x), 300)))
    else:
        source = x
    start, count = time.time(), 0
    while count < 300 and time.time() - start < 10:
        got = next(source, None)
        if got is None:
            break
        batch, count = got, count + 1
    found["input_alone_ms"] = round(1e3 * (time.time() - start) / max(1, count), 2)
    return batch


if __name__ == "__main__":
    child(sys.argv[1])
