"""Claim: TensorFlow may wait at the end of an epoch; feedline's experiments do not.

    python benchmarks/epoch_end.py [--turns N]

A pass over a small tf.data pipeline is broken off after a while, and its iterator is
dropped, as a loop does at the end of an epoch. How long that takes: by Python, by
feedline (`job/loops/drop_iterator.py`), and by Python with AUTOTUNE switched off, in
turns. AUTOTUNE's thread sleeps 10 ms, 20 ms, 40 ms and so on; whoever drops the
iterator may have to wait for it, so what is waited depends on how long the pass was.
Whether it does is chance: the table has the share of the turns in which it took more
than 20 ms.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

from feedline.job.loops.drop_iterator import without_waiting

PASSES = (0.3, 0.7, 1.5, 3.0)
WAITED = 0.02


def pipeline(*, autotune: bool = True) -> tf.data.Dataset:
    dataset = tf.data.Dataset.range(10**9).shuffle(1_000).batch(128)
    options = tf.data.Options()
    options.autotune.enabled = autotune
    return dataset.prefetch(4).with_options(options)


def dropped(dataset: tf.data.Dataset, seconds: float) -> float:
    """How long dropping the iterator takes after a pass of so many seconds."""
    batches = iter(dataset)
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        next(batches)
    begin = time.perf_counter()
    del batches
    return time.perf_counter() - begin


def let_go(seconds: float) -> float:
    with without_waiting():
        return dropped(pipeline(), seconds)


WAYS = {
    "Python": lambda seconds: dropped(pipeline(), seconds),
    "feedline": let_go,
    "no AUTOTUNE": lambda seconds: dropped(pipeline(autotune=False), seconds),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=12, help="of each (12)")
    turns = max(1, parser.parse_args().turns)
    print(f"TensorFlow {tf.__version__}, {turns} turns each\n")
    print(f"{'pass':>6}  {'dropped by':<12}{'waits in':>9}{'mean':>9}{'longest':>10}")
    for seconds in PASSES:
        took: dict[str, list[float]] = {way: [] for way in WAYS}
        for _ in range(turns):
            for way, drop in WAYS.items():
                took[way].append(drop(seconds))
        for way, found in took.items():
            share = sum(each > WAITED for each in found) / turns
            mean, most = statistics.mean(found), max(found)
            print(
                f"{seconds:>4.1f} s  {way:<12}{share:>8.0%} {1e3 * mean:>5.0f} ms"
                f"{1e3 * most:>7.0f} ms",
                flush=True,
            )


if __name__ == "__main__":
    main()
