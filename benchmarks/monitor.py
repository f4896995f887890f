"""Claim: `feedline.Monitor()` costs a training job less than 1 %.

    python benchmarks/monitor.py [--quick] [--same]

One job, one process, one training: the monitor is switched on and off every few dozen
steps, on-off-off-on, so that whatever disturbs the machine disturbs both alike. What
is compared is the processor time of the whole process per step, all threads: what
others do on the machine does not count in it, and everything that the monitor does
does, at its usual pace: the clock around every step, the steps that it feeds itself,
readings, TensorBoard scalars into a file, and its line on a terminal that nobody sees.
TensorFlow gets one thread: several that wait for each other use processor time too.

The cost is the sum over all turns with it over the sum of those without, less 1, and
its interval the middle 95 % of that in resampled pairs of turns. `--same` leaves it
off in both, which shows the error of it all.

Two jobs with steps of a few milliseconds, where the monitor would show first: a
`Model.fit` and a loop of one's own around a `tf.function`. A dearer step pays less.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

STEPS = 25
WARM_UP = 8
JOBS = {"fit": "Model.fit", "loop": "loop, tf.function"}
ORDER = (True, False, False, True)


# ------------------------------------------------------------------- the job


def job(kind: str, turns: int, *, same: bool) -> dict:
    """Take turns of a few steps with the monitor on and off: milliseconds of
    processor time per step of each."""
    import keras
    import tensorflow as tf

    import feedline

    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.Input((256,)),
            keras.layers.Dense(256, "relu"),
            keras.layers.Dense(256, "relu"),
            keras.layers.Dense(1),
        ]
    )
    model.compile("sgd", "mse")
    batch = tf.random.normal((256, 256)), tf.random.normal((256, 1))
    data = tf.data.Dataset.from_tensors(batch).repeat().prefetch(2)
    taken: list[float] = []
    begin = 0.0

    def turn(steps: int) -> None:
        """After every step: at the end of a turn note its time, switch."""
        nonlocal begin
        if steps % STEPS:
            return
        if monitor._on:
            monitor._caught_up()
        now = time.process_time()
        taken.append(1e3 * (now - begin) / STEPS)
        record = monitor._record
        monitor._on = ORDER[len(taken) % len(ORDER)] and not same
        record._last = record.clock.now()  # the turns without it are no step
        begin = time.process_time()

    class Turns(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):  # noqa: ARG002
            turn(batch + 1)

    @tf.function
    def train(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        model.optimizer.apply_gradients(
            zip(gradients, model.trainable_variables, strict=True)
        )
        return loss

    steps = STEPS * turns
    with tempfile.TemporaryDirectory() as logs:
        monitor = feedline.Monitor(logs, live=True)
        if kind == "fit":
            callbacks = [monitor, Turns()]
            model.fit(data, steps_per_epoch=steps, verbose=0, callbacks=callbacks)
        else:
            with monitor:
                batches = monitor.watch(data.take(steps))
                for number, (x, y) in enumerate(batches, 1):
                    train(x, y)
                    turn(number)
        found = monitor.summary
        seen = found.input_share.rounds if found.input_share else 0
        if found.notes or (not same and not (seen and os.listdir(logs))):
            sys.exit(f"the job was not watched: {found}")
    sides: dict[bool, list[float]] = {True: [], False: []}
    for number, each in enumerate(taken[WARM_UP:], WARM_UP):
        sides[ORDER[number % len(ORDER)]].append(each)
    return {"on": sides[True], "off": sides[False], "seen": seen}


# ------------------------------------------------------------ the comparison


def run(kind: str, turns: int, *, same: bool) -> dict:
    command = [sys.executable, __file__, "--job", kind, "--turns", str(turns)]
    done = subprocess.run(
        [*command, *(["--same"] if same else [])],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={
            **os.environ,
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "TF_NUM_INTRAOP_THREADS": "1",
            "TF_NUM_INTEROP_THREADS": "1",
        },
    )
    if done.returncode:
        sys.exit(f"the job failed with code {done.returncode}: {done.stdout}")
    return json.loads(done.stdout.splitlines()[-1])


def compare(rounds: list[dict]) -> tuple[float, float, float]:
    """The cost and its interval, from all pairs of all rounds."""
    import numpy as np

    pairs = np.array(
        [pair for each in rounds for pair in zip(each["on"], each["off"], strict=False)]
    )
    drawn = np.random.default_rng(0).integers(0, len(pairs), (2000, len(pairs)))
    sums = pairs[drawn].sum(axis=1)
    low, high = np.percentile(sums[:, 0] / sums[:, 1] - 1, [2.5, 97.5])
    on, off = pairs.sum(axis=0)
    return float(on / off - 1), float(low), float(high)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rounds, few turns")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each job")
    parser.add_argument("--turns", type=int, default=400, help="turns of each")
    parser.add_argument("--same", action="store_true", help="off against off")
    parser.add_argument("--job", choices=JOBS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        print(json.dumps(job(options.job, options.turns, same=options.same)))
        return
    if options.quick:
        options.rounds, options.turns = 1, 160

    from feedline.measure.machine import look

    machine = look()
    print(f"Monitor: {options.rounds} rounds of {options.turns} x {STEPS} steps")
    print(f"Machine: {machine.cores} cores, {machine.memory_gb:.0f} GB\n")
    print(f"{'job':<20}{'without':>10}{'cost':>9}   {'95 % interval':<20}waits seen")
    holds = True
    for kind, name in JOBS.items():
        rounds = [
            run(kind, options.turns, same=options.same) for _ in range(options.rounds)
        ]
        cost, low, high = compare(rounds)
        off = [each for found in rounds for each in found["off"]]
        seen = sum(found["seen"] for found in rounds)
        holds = holds and cost < 0.01
        print(
            f"{name:<20}{sum(off) / len(off):>7.2f} ms{cost:>+9.2%}   "
            f"{f'{low:+.2%} to {high:+.2%}':<20}{seen:>10,}",
            flush=True,
        )
    print(f"\nThe claim, less than 1 %, {'holds' if holds else 'does not hold'}.")


if __name__ == "__main__":
    main()
