"""Claim: with the fixes that feedline finds, an accelerator waits less for its input.

    python benchmarks/accelerator.py [--only NAME] [--wait MS] [--allow GRADES]
                                     [--seconds N] [--quick] [--json FILE]

The accelerator is EMULATED: there is none in this machine. A step trains a few weights
and then waits a set time asleep, without using the CPU, which is how a GPU or TPU looks
from the host while it computes. A batch must have arrived before the wait begins, and
the next step begins after it: nothing is queued ahead as on a real device, so the
fractions here are on the low side.

In front of it stand the image pipelines of examples/, as they are and as
`feedline.tune` makes them. Both train in turns by `Model.fit`, some epochs at a time;
the first epoch of each turn is left out. Busy is the set time of all steps over the
time that the epochs took, the median of the turns with their range. "Fed" is the same
with batches that are ready: what no input pipeline can exceed.

Each pipeline runs in a process of its own. One that fails gives a row with the reason.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
WAITS = (20.0, 5.0)
STEPS = 40  # of an epoch, where the pipeline itself has no end
READY = 4


# ---------------------------------------------------------------- the pipelines


def images_serial_augmentation():
    import numpy as np
    import tensorflow as tf

    def augment(image, label):  # As in the example, which trains when imported.
        image = tf.cast(image, tf.float32) / 255.0
        image = tf.image.random_brightness(image, max_delta=0.2)
        image = tf.image.random_contrast(image, lower=0.8, upper=1.2)
        image = tf.image.random_saturation(image, lower=0.8, upper=1.2)
        image = tf.image.random_flip_left_right(image)
        image = tf.image.random_crop(image, [64, 64, 3])
        return image, label

    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, size=(4_000, 128, 128, 3), dtype=np.uint8)
    labels = rng.integers(0, 10, size=4_000)
    dataset = tf.data.Dataset.from_tensor_slices((images, labels))
    return dataset.map(augment).batch(32).repeat()


def jpeg_files():
    import jpeg_files as example
    import make_data
    import tensorflow as tf

    folder = make_data.jpeg_files(count=320, side=384)
    dataset = tf.data.Dataset.list_files(f"{folder}/*.jpg", seed=1)
    return dataset.map(example.load).batch(32).repeat()


def tfrecord_cache_wrong():
    import make_data
    import tensorflow as tf
    import tfrecord_cache_wrong as example

    files = make_data.jpeg_records(count=500, side=384)
    dataset = tf.data.TFRecordDataset(files, num_parallel_reads=tf.data.AUTOTUNE)
    dataset = dataset.cache()
    dataset = dataset.map(example.decode, num_parallel_calls=tf.data.AUTOTUNE)
    return dataset.batch(16).prefetch(tf.data.AUTOTUNE)


def images_tfrecord():
    import images_tfrecord as example
    import make_data
    import tensorflow as tf

    files = make_data.pixel_records(count=2_000, side=example.SIDE)
    dataset = tf.data.TFRecordDataset(files, num_parallel_reads=tf.data.AUTOTUNE)
    dataset = dataset.map(example.parse, num_parallel_calls=tf.data.AUTOTUNE)
    return dataset.batch(32).prefetch(tf.data.AUTOTUNE)


PIPELINES = {
    pipeline.__name__: pipeline
    for pipeline in (
        images_serial_augmentation,
        jpeg_files,
        tfrecord_cache_wrong,
        images_tfrecord,
    )
}


# ----------------------------------------------------- the emulated accelerator


def emulated(wait_ms: float):
    """A compiled model whose step waits; `model.waits` counts how often it did."""
    import keras
    import tensorflow as tf

    class Emulated(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.head = keras.layers.Dense(10, activation="softmax")
            self.waits = 0

        def call(self, images):
            return self.head(images[:, 0, 0, :])  # One pixel: next to no CPU.

        def train_step(self, data):
            logs = super().train_step(data)
            # The loss goes through the wait, so that it comes after the arithmetic
            # and before the end of the step. `sleep` holds neither a core nor the
            # interpreter's lock.
            logs["loss"] = tf.numpy_function(self._wait, [logs["loss"]], tf.float32)
            logs["loss"].set_shape([])
            return logs

        def _wait(self, loss):
            time.sleep(wait_ms / 1e3)
            self.waits += 1
            return loss

    model = Emulated()
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model


def busy(model, dataset, wait_ms: float, epochs: int) -> float:
    """The fraction of the time that it waits, in some epochs after the first."""
    import keras

    class Epochs(keras.callbacks.Callback):
        waited = took = 0.0

        def on_epoch_begin(self, epoch, logs=None):  # noqa: ARG002
            self.begin, self.waits = time.perf_counter(), model.waits

        def on_epoch_end(self, epoch, logs=None):  # noqa: ARG002
            if epoch:
                self.took += time.perf_counter() - self.begin
                self.waited += (model.waits - self.waits) * wait_ms / 1e3

    timed = Epochs()
    endless = int(dataset.cardinality()) < 0
    model.fit(
        dataset,
        epochs=1 + epochs,
        steps_per_epoch=STEPS if endless else None,
        callbacks=[timed],
        verbose=0,
    )
    return timed.waited / timed.took


# ------------------------------------------------------------------ one pipeline


def measure(name: str, wait_ms: float, allow: list[str], seconds: float, quick: bool):
    """One row."""
    sys.path.insert(0, str(EXAMPLES))
    import feedline

    warnings.filterwarnings("ignore", message="`shuffle=True` was passed")
    dataset = PIPELINES[name]()
    ready = dataset.take(READY).cache().repeat()
    plain, tuned_model = emulated(wait_ms), emulated(wait_ms)
    say(f"{name}, {wait_ms:g} ms: tuning")
    told = Told()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tuned = feedline.tune(dataset, tuned_model, allow=allow, seconds=seconds)
    troubles = [str(w.message) for w in caught if "feedline" in str(w.message)]
    variants = {
        "before": (plain, dataset),
        "after": (tuned_model, tuned),
        "fed": (plain, ready),
    }
    rounds, epochs = (2, 1) if quick else (5, 3)
    found: dict[str, list[float]] = {variant: [] for variant in variants}
    for turn in range(rounds):
        say(f"{name}, {wait_ms:g} ms: turn {turn + 1} of {rounds}")
        for variant, (model, source) in variants.items():
            found[variant].append(busy(model, source, wait_ms, epochs))
    row = {"applied": told.applied, "trouble": "; ".join(troubles)}
    for variant, fractions in found.items():
        row[variant] = {
            "busy": statistics.median(fractions),
            "range": [min(fractions), max(fractions)],
        }
    return row


class Told(logging.Handler):
    """Hears what `feedline.tune` has applied: it returns the dataset alone."""

    def __init__(self) -> None:
        super().__init__()
        self.applied = "?"
        logger = logging.getLogger("feedline.session.tuning")
        logger.setLevel(logging.INFO)
        logger.propagate = False
        logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        if record.msg.startswith("tuned:"):
            self.applied = record.getMessage().partition(": ")[2]


# -------------------------------------------------------------------- the table


def in_process(name: str, wait_ms: float, asked: argparse.Namespace) -> dict:
    row = {"pipeline": name, "wait_ms": wait_ms, "emulated": True}
    with tempfile.TemporaryDirectory(prefix="feedline-bench-") as folder:
        result = Path(folder) / "row.json"
        command = [sys.executable, __file__, "--row", str(result), "--only", name]
        command += ["--wait", str(wait_ms), "--allow", asked.allow]
        command += ["--seconds", str(asked.seconds)]
        command += ["--quick"] if asked.quick else []
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
        try:
            done = subprocess.run(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                timeout=20 * asked.seconds + 600,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {**row, "failed": "took too long"}
        if not result.exists():
            return {**row, "failed": f"its process ended with code {done.returncode}"}
        return {**row, **json.loads(result.read_text())}


def show(rows: list[dict]) -> None:
    print("The emulated accelerator: how much of the time it is busy")
    print(f"{'pipeline':<27}{'step':>6}  {'before':<16}{'after':<16}{'fed':>5}")
    for row in rows:
        start = f"{row['pipeline']:<27}{row['wait_ms']:>3g} ms  "
        if "failed" in row:
            print(f"{start}FAILED: {row['failed'][:36]}")
            continue
        print(
            f"{start}{percent(row['before']):<16}{percent(row['after']):<16}"
            f"{row['fed']['busy']:>5.0%}"
        )
        print(f"  applied: {row['applied']}"[:80])
        if row["trouble"]:
            print(f"  {row['trouble']}"[:80])


def percent(found: dict) -> str:
    low, high = found["range"]
    return f"{found['busy']:.0%} ({100 * low:.0f} to {100 * high:.0f})"


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", choices=PIPELINES, metavar="NAME")
    parser.add_argument(
        "--wait",
        type=float,
        action="append",
        metavar="MS",
        help="how long the emulated step takes; may be given again (20; then 5)",
    )
    parser.add_argument("--allow", default="exact", metavar="GRADES", help="(exact)")
    parser.add_argument(
        "--seconds", type=float, default=40.0, help="what `feedline.tune` is given (40)"
    )
    parser.add_argument("--quick", action="store_true", help="two short turns")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers")
    parser.add_argument("--row", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    names, waits = asked.only or list(PIPELINES), asked.wait or list(WAITS)
    if asked.row:
        try:
            row = measure(
                names[0], waits[0], asked.allow.split(","), asked.seconds, asked.quick
            )
        except Exception as error:  # a row, not an end
            row = {"failed": f"{type(error).__name__}: {error}"}
        asked.row.write_text(json.dumps(row))
        return
    rows = [in_process(name, wait, asked) for name in names for wait in waits]
    show(rows)
    if asked.json:
        about = {"cores": len(os.sched_getaffinity(0)), "allow": asked.allow}
        about["seconds"] = asked.seconds
        asked.json.write_text(json.dumps({**about, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
