"""Claim: watching costs a training job less than 2 %.

    python benchmarks/watching.py [--quick] [--same]

Two runs of the very same program differ by a percent or two for their whole life,
which is as much as the claim. So the watch is switched on and off inside of one
process: every twelve steps the methods of TensorFlow and Keras that feedline wraps
are put back as they were, and twelve steps later wrapped again. Each pair of turns
next to each other gives one ratio; the table has their median and its 95 %
interval, over several processes. `--same` switches nothing, which shows the error
of it all.

Three jobs with steps of a few milliseconds, where watching would show first: a
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
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

STEPS = 12
UNCLOCKED = 4  # Python adapts its bytecode again after each switch
WARM_UP = 16
JOBS = {
    "fit": "Model.fit",
    "function": "loop, tf.function",
    "eager": "loop, eager step",
}


# ------------------------------------------------------------------- the job


class Switch:
    """The watch, which can be taken off and put back at any moment."""

    def __init__(self) -> None:
        from feedline.job.script import hooks
        from feedline.job.script.watch import Watch
        from feedline.measure.clock import SystemClock

        before = dict(_methods())
        # It waits for a loop that never comes, and so watches to the end.
        self.watch = Watch(SystemClock(), _never, loop=10**9)
        hooks.install(self.watch)
        after = dict(_methods())
        self._sides = {
            True: {place: after[place] for place in after},
            False: {place: before[place] for place in after},
        }
        wrapped = sum(before[place] is not after[place] for place in after)
        assert wrapped == len(after), "a method is not watched any more"
        self.model: Any = None
        self._train: dict[bool, Any] = {}

    def turn(self, watched: bool) -> None:
        for (owner, name), method in self._sides[watched].items():
            setattr(owner, name, method)
        if self.model is not None:
            ours = self.model.train_function
            if not self._train:
                self._train = {True: ours, False: ours._feedline_original}
            self.model.train_function = self._train[watched]


def _methods() -> Any:
    """Everything that a step passes through and feedline wraps."""
    from keras.src.optimizers.base_optimizer import BaseOptimizer
    from tensorflow.python.data.ops.iterator_ops import OwnedIterator
    from tensorflow.python.eager.backprop import GradientTape
    from tensorflow.python.eager.polymorphic_function import polymorphic_function
    from tensorflow.python.framework.ops import _EagerTensorBase

    for owner, name in (
        (OwnedIterator, "__next__"),
        (OwnedIterator, "get_next"),
        (polymorphic_function.Function, "__call__"),
        (GradientTape, "gradient"),
        (_EagerTensorBase, "_numpy"),
        (BaseOptimizer, "apply"),
    ):
        yield (owner, name), owner.__dict__[name]


def _never(_: Any) -> None:
    raise AssertionError("no loop should be measured")


def job(kind: str, turns: int, *, same: bool) -> None:
    """Print the milliseconds per step of each turn, and whether it was watched."""
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
    switch = Switch()
    # A-B-B-A: what drifts over four turns disturbs both sides alike.
    sides = itertools.cycle((True, False, False, True))
    data = tf.data.Dataset.from_tensors(batch).repeat().prefetch(2)
    times: list[tuple[bool, float]] = []
    watched, begin = next(sides), 0.0

    def stepped(steps: int) -> None:
        nonlocal watched, begin
        if steps % STEPS == 0:
            took = time.perf_counter() - begin
            times.append((watched, 1e3 * took / (STEPS - UNCLOCKED)))
            watched = next(sides)
            switch.turn(watched or same)
        if steps % STEPS == UNCLOCKED:
            begin = time.perf_counter()

    class Turns(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):  # noqa: ARG002
            if switch.model is None:
                switch.model = model
            stepped(batch + 1)

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        model.optimizer.apply_gradients(
            zip(gradients, model.trainable_variables, strict=True)
        )
        return loss

    steps = STEPS * (turns + WARM_UP)
    if kind == "fit":
        model.fit(data, steps_per_epoch=steps, verbose=0, callbacks=[Turns()])
    else:
        train: Callable[..., Any] = tf.function(step) if kind == "function" else step
        for number, (x, y) in enumerate(data.take(steps), 1):
            train(x, y)
            stepped(number)
    (loop,) = switch.watch.loops
    assert loop.steps > steps // 3, "the loop was not watched"
    assert not switch.watch.broken, switch.watch.broken
    print(json.dumps(times[WARM_UP:]))


# ------------------------------------------------------------ the comparison


def run(kind: str, turns: int, *, same: bool) -> list[tuple[float, float]]:
    """One process: (plain, watched) of each pair of turns, ms per step."""
    command = [sys.executable, str(Path(__file__).resolve()), "--job", kind]
    command += ["--turns", str(turns), *(["--same"] if same else [])]
    environment = {
        **os.environ,
        "TF_CPP_MIN_LOG_LEVEL": "3",
        # A step needs one free core then, and not two.
        "TF_NUM_INTRAOP_THREADS": "1",
        "TF_NUM_INTEROP_THREADS": "1",
    }
    done = subprocess.run(
        command, check=False, stdout=subprocess.PIPE, text=True, env=environment
    )
    if done.returncode:
        sys.exit(f"the job failed with code {done.returncode}")
    times = json.loads(done.stdout.splitlines()[-1])
    pairs = []
    for one, other in zip(times[::2], times[1::2], strict=False):
        (off, plain), (on, watched) = sorted((one, other))
        assert (off, on) == (False, True), "a pair is one turn of each side"
        pairs.append((plain, watched))
    return pairs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one process, few turns")
    parser.add_argument("--rounds", type=int, default=3, help="processes for each job")
    parser.add_argument("--turns", type=int, default=1000, help="turns in each")
    parser.add_argument("--same", action="store_true", help="watched against watched")
    parser.add_argument("--job", choices=JOBS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        job(options.job, options.turns, same=options.same)
        return
    if options.quick:
        options.rounds, options.turns = 1, 200

    from feedline.measure.experiment import estimate
    from feedline.measure.machine import look

    machine = look()
    print(f"Watching: {options.rounds} x {options.turns} turns of {STEPS} steps")
    print(f"Machine:  {machine.cores} cores, {machine.memory_gb:.0f} GB\n")
    print(f"{'job':<20}{'plain':>10}{'watched':>10}{'cost':>9}   95 % interval")
    holds = True
    for kind, name in JOBS.items():
        pairs = [
            pair
            for _ in range(options.rounds)
            for pair in run(kind, options.turns, same=options.same)
        ]
        plain, watched = (statistics.median(side) for side in zip(*pairs, strict=True))
        cost = estimate([b / a - 1 for a, b in pairs])
        holds = holds and cost.high < 0.02
        print(
            f"{name:<20}{plain:>7.3f} ms{watched:>7.3f} ms"
            f"{cost.value:>+9.2%}   {cost.low:+.2%} to {cost.high:+.2%}",
            flush=True,
        )
    print(f"\nThe claim, less than 2 %, {'holds' if holds else 'does not hold'}.")


if __name__ == "__main__":
    main()
