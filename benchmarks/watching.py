"""Claim: watching costs a training job less than 2 %.

    python benchmarks/watching.py [--quick]

The same job runs twice at a time: as `python job.py`, and under feedline's watch,
which is told to wait for a loop that never comes and so watches to the end. The
two take turns, a few steps each, the other one waiting meanwhile, so that whatever
disturbs the machine disturbs both alike. Each times its own turns. What others do
on the machine makes a turn slower, never faster, so a process counts with the turn
that a fifth of its others beat; and TensorFlow gets one thread, so that a turn
needs one free core and not two.

One round is a pair of processes: two of the very same program may differ by a
percent for their whole life. The table has the median ratio of the rounds and its
95 % interval; `--same` compares plain with plain, which shows the error of it all.

Three jobs with steps of a few milliseconds, where watching would show first: a
`Model.fit`, a loop of one's own around a `tf.function`, and one with an eager step.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STEPS = 5
WARM_UP = 20
JOBS = {
    "fit": "Model.fit",
    "function": "loop, tf.function",
    "eager": "loop, eager step",
}


# ------------------------------------------------------------------- the job


def job(kind: str, turns: int) -> None:
    """Take `turns` turns of a few steps, each when a line on standard input asks
    for it, and print what it took in milliseconds per step."""
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
    begin = 0.0

    def turn(steps: int) -> None:
        """After every step: at the end of a turn tell the time and wait."""
        nonlocal begin
        if steps % STEPS == 0:
            if steps:
                print(1e3 * (time.perf_counter() - begin) / STEPS, flush=True)
            sys.stdin.readline()
            begin = time.perf_counter()

    class Turns(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):  # noqa: ARG002
            turn(0)

        def on_train_batch_end(self, batch, logs=None):  # noqa: ARG002
            turn(batch + 1)

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        model.optimizer.apply_gradients(
            zip(gradients, model.trainable_variables, strict=True)
        )
        return loss

    if kind == "fit":
        model.fit(data, steps_per_epoch=STEPS * turns, verbose=0, callbacks=[Turns()])
    else:
        train = tf.function(step) if kind == "function" else step
        turn(0)
        for number, (x, y) in enumerate(data.take(STEPS * turns), 1):
            train(x, y)
            turn(number)


# ------------------------------------------------------------ the comparison

WATCHED = "from feedline.child import main; main()"


class Process:
    """The job in a process of its own, plain or watched."""

    def __init__(self, kind: str, turns: int, outcome: Path | None) -> None:
        target = [str(Path(__file__).resolve()), "--job", kind, "--turns", str(turns)]
        command = [sys.executable, *target]
        if outcome is not None:
            order = {
                "target": target,
                "module": False,
                "seconds": 60,
                "loop": 10**9,
                "patient": True,
                "outcome": str(outcome),
            }
            command = [sys.executable, "-c", WATCHED, json.dumps(order)]
        self._outcome = outcome
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            bufsize=1,
            env={
                **os.environ,
                "TF_CPP_MIN_LOG_LEVEL": "3",
                "TF_NUM_INTRAOP_THREADS": "1",
                "TF_NUM_INTEROP_THREADS": "1",
            },
        )

    def turn(self) -> float:
        """Milliseconds per step of its next turn."""
        self._process.stdin.write("go\n")
        return float(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate("go\n")
        if self._process.returncode:
            sys.exit(f"the job failed with code {self._process.returncode}")
        if self._outcome is not None:
            seen = json.loads(self._outcome.read_text())["seen"]
            if not seen or not seen[0].startswith("training loop 1"):
                sys.exit(f"the job was not watched: {seen}")


def compare(kind: str, turns: int, *, same: bool) -> tuple[float, float]:
    """One round: ms per step plain, and watched."""
    with tempfile.TemporaryDirectory() as folder:
        outcome = None if same else Path(folder) / "outcome.json"
        sides = Process(kind, turns, None), Process(kind, turns, outcome)
        times: tuple[list[float], list[float]] = ([], [])
        for number in range(turns):
            for side in (0, 1) if number % 2 == 0 else (1, 0):
                times[side].append(sides[side].turn())
        for process in sides:
            process.close()
    plain, watched = (undisturbed(taken[WARM_UP:]) for taken in times)
    return plain, watched


def undisturbed(taken: list[float]) -> float:
    return sorted(taken)[len(taken) // 5]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rounds, few turns")
    parser.add_argument("--rounds", type=int, default=9, help="pairs of processes")
    parser.add_argument("--turns", type=int, default=400, help="turns of each")
    parser.add_argument("--same", action="store_true", help="plain against plain")
    parser.add_argument("--job", choices=JOBS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        job(options.job, options.turns)
        return
    if options.quick:
        options.rounds, options.turns = 3, 150

    from feedline.measure.experiment import estimate
    from feedline.measure.machine import look

    machine = look()
    print(f"Watching: {options.rounds} rounds of {options.turns} x {STEPS} steps")
    print(f"Machine:  {machine.cores} cores, {machine.memory_gb:.0f} GB\n")
    print(f"{'job':<20}{'plain':>10}{'watched':>10}{'cost':>9}   95 % interval")
    holds = True
    for kind, name in JOBS.items():
        rounds = [
            compare(kind, options.turns, same=options.same)
            for _ in range(options.rounds)
        ]
        plain, watched = (statistics.median(side) for side in zip(*rounds, strict=True))
        cost = estimate([b / a - 1 for a, b in rounds])
        holds = holds and cost.value < 0.02
        print(
            f"{name:<20}{plain:>7.3f} ms{watched:>7.3f} ms"
            f"{cost.value:>+9.2%}   {cost.low:+.2%} to {cost.high:+.2%}",
            flush=True,
        )
    print(f"\nThe claim, less than 2 %, {'holds' if holds else 'does not hold'}.")


if __name__ == "__main__":
    main()
