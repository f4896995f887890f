"""What the watch has seen of a script that was not measured: the loops it met, and
whether its training still moves."""

from __future__ import annotations

import sys
import time

from feedline.job.script.watch import Watch
from feedline.measure.clock import SystemClock
from feedline.session.messages import Outcome

_IDLE_CPU = 0.02


def seen_by(watch: Watch) -> Outcome:
    """Which training it saw, for a user who is told that none was measured."""
    loops = watch.loops
    seen = [
        f"training loop {number} at {loop.place}, {loop.steps} step(s)"
        for number, loop in enumerate(loops, 1)
    ]
    seen += watch.notes
    seen += [
        f"training at {where}, {count} step(s), not fed by a tf.data.Dataset"
        for where, count in watch.unfed.most_common(5)
    ]
    seen += [
        f"a loop over a dataset at {where}, {count} batch(es), without a gradient"
        for where, count in watch.untrained.most_common(5)
    ]
    if "tf_keras" in sys.modules:
        seen.append("tf_keras (Keras 2): feedline watches Keras 3")
    numbers = [n for n, loop in enumerate(loops, 1) if loop.steps >= 3]
    if watch.wanted is not None:
        numbers = [n for n in numbers if n == watch.wanted]
    return Outcome(
        seen=tuple(seen),
        short=max(numbers, key=lambda n: loops[n - 1].steps, default=None),
        tensorflow="tensorflow" in sys.modules,
        loops=len(loops),
    )


def until_stalled(
    clock: SystemClock, watch: Watch, patience: float
) -> tuple[str, float]:
    """Return once training has stopped moving: what waits, and for how many seconds.
    It shows in two ways: nobody looks at the clock any more, which every step and every
    batch does, and no CPU time is used."""
    looked, since, cpu = clock.last, time.perf_counter(), clock.cpu()
    while True:
        time.sleep(1.0)
        what = watch.under_way
        now = time.perf_counter()
        used = clock.cpu() - cpu
        idle = used < _IDLE_CPU * (now - since)
        if what is None or clock.last != looked or not idle:
            looked, since, cpu = clock.last, now, clock.cpu()
        elif now - since > patience:
            return what, now - since
