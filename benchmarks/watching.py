"""Claim: watching costs a training job less than 2 %.

    python benchmarks/watching.py [--quick]

The same job runs as `python job.py` (A) and under feedline's watch (B), which is
told to wait for a loop that never comes, so that it watches to the end. A and B
take turns in fresh processes: A-B, B-A, A-B, ... so that whatever disturbs the
machine disturbs both. The job times its own steps, in blocks, after warming up.
Its result is the block that a tenth of the others beat: what others do on the
machine makes blocks slower, never faster, so the fast ones tell what the job costs.
A round's ratio is B to A; the table has the median ratio and its 95 % interval.

Three jobs with a step of a few milliseconds, where watching would show first: a
`Model.fit`, a loop of one's own around a `tf.function`, and one with an eager step.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BLOCK = 50
JOBS = {
    "fit": "Model.fit",
    "function": "loop, tf.function",
    "eager": "loop, eager step",
}


# ------------------------------------------------------------------- the job


def job(kind: str, steps: int) -> None:
    """Train, and print the milliseconds per step of an undisturbed block."""
    import keras
    import tensorflow as tf

    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.Input((256,)),
            keras.layers.Dense(256, "relu"),
            keras.layers.Dense(1),
        ]
    )
    model.compile("sgd", "mse")
    batch = tf.random.normal((256, 256)), tf.random.normal((256, 1))
    data = tf.data.Dataset.from_tensors(batch).repeat().prefetch(2)
    times = [time.perf_counter()]

    class Blocks(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):  # noqa: ARG002
            if batch % BLOCK == 0:
                times.append(time.perf_counter())

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        model.optimizer.apply_gradients(
            zip(gradients, model.trainable_variables, strict=True)
        )
        return loss

    if kind == "fit":
        model.fit(data, steps_per_epoch=steps, verbose=0, callbacks=[Blocks()])
    else:
        train = tf.function(step) if kind == "function" else step
        for number, (x, y) in enumerate(data.take(steps)):
            train(x, y)
            if number % BLOCK == 0:
                times.append(time.perf_counter())
    blocks = [after - before for before, after in itertools.pairwise(times)]
    steady = sorted(blocks[len(blocks) // 5 :])
    print(1e3 * steady[len(steady) // 10] / BLOCK)


# ------------------------------------------------------------ the comparison

WATCHED = "import sys; from feedline.child import main; main()"


def run(kind: str, steps: int, watched: bool, folder: Path) -> float:
    """Milliseconds per step of one run in a process of its own."""
    target = [str(Path(__file__).resolve()), "--job", kind, "--steps", str(steps)]
    outcome = folder / "outcome.json"
    command = [sys.executable, *target]
    if watched:
        order = {
            "target": target,
            "module": False,
            "seconds": 60,
            "loop": 10**9,
            "patient": True,
            "outcome": str(outcome),
        }
        command = [sys.executable, "-c", WATCHED, json.dumps(order)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    if done.returncode:
        sys.exit(f"the job failed:\n{done.stderr}")
    if watched:
        seen = json.loads(outcome.read_text())["seen"]
        if not any("training loop 1" in line for line in seen):
            sys.exit(f"the job was not watched: {seen}")
    return float(done.stdout)


def compare(kind: str, rounds: int, steps: int) -> tuple[list[float], list[float]]:
    plain: list[float] = []
    watched: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            for side in (False, True) if number % 2 == 0 else (True, False):
                into = watched if side else plain
                into.append(run(kind, steps, side, Path(folder)))
            print(".", end="", file=sys.stderr, flush=True)
    return plain, watched


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rounds, few steps")
    parser.add_argument("--job", choices=JOBS, help=argparse.SUPPRESS)
    parser.add_argument("--steps", type=int, default=2000, help="steps of a run")
    parser.add_argument("--rounds", type=int, default=11, help="pairs of runs")
    options = parser.parse_args()
    if options.job:
        job(options.job, options.steps)
        return
    if options.quick:
        options.steps, options.rounds = 500, 3

    from feedline.measure.experiment import estimate
    from feedline.measure.machine import look

    rows = []
    for kind, name in JOBS.items():
        plain, watched = compare(kind, options.rounds, options.steps)
        cost = estimate([b / a for a, b in zip(plain, watched, strict=True)])
        rows.append((name, statistics.median(plain), statistics.median(watched), cost))
    machine = look()
    print(f"\nWatching: {options.rounds} rounds of {options.steps} steps, interleaved")
    print(f"Machine:  {machine.cores} cores, {machine.memory_gb:.0f} GB\n")
    print(f"{'job':<20}{'plain':>10}{'watched':>10}{'cost':>9}   95 % interval")
    for name, before, after, cost in rows:
        print(
            f"{name:<20}{before:>7.3f} ms{after:>7.3f} ms"
            f"{cost.value - 1:>+9.2%}   {cost.low - 1:+.2%} to {cost.high - 1:+.2%}"
        )
    worst = max(cost.value for *_, cost in rows) - 1
    print(f"\nThe claim, less than 2 %: {'holds' if worst < 0.02 else 'does not hold'}")


if __name__ == "__main__":
    main()
