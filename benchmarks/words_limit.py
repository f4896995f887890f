"""Claim: most of a skip-gram's time is arithmetic, a quarter of it waits for rows.

    python benchmarks/words_limit.py [--turns N] [--threads N]

The kernel that trains, without reading, counting or the loop around it, on two texts
of the same size: words drawn as in real text from 66,610 of them, whose rows (60 MB)
no cache of a core holds, and words drawn from 256, whose rows stay in the nearest
ones. They take turns; the table has medians with their range. What the second is
faster by, for a row, is the time that the first waits for its rows.

One thread unless told: two threads on 256 words fight for the same rows, which is
another limit, and shows with `--threads 2`.

Last, what two threads can be worth on this machine at best: products of numbers in
registers, no memory touched, by one thread and by two in turns. Where two of them are
not worth twice one, they share a core (two virtual processors often do), and no
training on two threads can be worth more.

    example    one context word with one target and its noise, or with one path
    Gflop/s    6 flops for each number of each row that is multiplied, per thread:
               the dot product and the two rows' steps
"""

from __future__ import annotations

import argparse
import statistics
import threading
import time
from typing import Any

import numpy as np
from numba import njit

from feedline.words.engine import cpu, tables, weights
from feedline.words.engine.config import Config
from feedline.words.engine.kinds import Rates
from feedline.words.engine.simd import fma, splat, total

WORDS, FEW = 66_610, 256
TOKENS = 30_000  # of a block, as in training
BLOCKS = 12


class Job:
    """One text, its tables and its rows."""

    def __init__(self, words: int, loss: str) -> None:
        # Frequent words are left out beforehand: both texts keep every token.
        self.config = Config.of(threads=1, loss=loss, sample=0)
        draw = np.random.default_rng(1)
        share = 1 / np.arange(20, 20 + words) if words > FEW else np.ones(words)
        counts = np.maximum(1, 1e8 * share / share.sum()).astype(np.int64)
        names = tuple(f"w{i}" for i in range(words))
        self.tables = tables.make(self.config, names, counts)
        self.weights = weights.fresh(
            self.config, self.tables.input_rows, self.tables.output_rows, cpu.width
        )
        text = draw.choice(words, BLOCKS * TOKENS, p=share / share.sum())
        self.blocks = np.split(text.astype(np.int32), BLOCKS)
        self.examples = 0

    def turn(self, threads: int) -> float:
        """Nanoseconds of one thread for an example."""
        done = [0] * threads

        def work(number: int) -> None:
            for i, block in enumerate(self.blocks[number::threads]):
                found = cpu.block(
                    self.tables, self.weights, block, i, Rates(0.025, 0, 0)
                )
                done[number] += found.examples

        began = time.perf_counter()
        workers = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return 1e9 * threads * (time.perf_counter() - began) / sum(done)


@njit(nogil=True)
def in_registers(times: int) -> Any:
    """Eight chains of products and sums, which keep both units of a core busy."""
    a = b = c = d = e = f = g = h = splat(1.0)
    by, more = splat(0.999), splat(0.001)
    for _ in range(times):
        a, b, c, d = (
            fma(a, by, more),
            fma(b, by, more),
            fma(c, by, more),
            fma(d, by, more),
        )
        e, f, g, h = (
            fma(e, by, more),
            fma(f, by, more),
            fma(g, by, more),
            fma(h, by, more),
        )
    return total((a + b) + (c + d) + (e + f) + (g + h))


def at_once(threads: int) -> float:
    """Rounds a second of all threads together."""
    times = 20_000_000
    workers = [
        threading.Thread(target=in_registers, args=(times,)) for _ in range(threads)
    ]
    began = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return threads * times / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    for loss, name in (("ns", "negative sampling"), ("hs", "hierarchical softmax")):
        jobs = {"as in text": Job(WORDS, loss), "in cache": Job(FEW, loss)}
        taken: dict[str, list[float]] = {each: [] for each in jobs}
        for turn in range(asked.turns + 1):
            for each, job in jobs.items():
                ns = job.turn(asked.threads)
                if turn:  # the first one compiles
                    taken[each].append(ns)
        print(f"{name}, {asked.threads} threads")
        for each, times in taken.items():
            config, middle = jobs[each].config, statistics.median(times)
            rows = 1 + config.negative
            if loss == "hs":
                found = jobs[each].tables
                lengths = np.diff(found.path_offsets)
                rows = float(np.mean([lengths[b].mean() for b in jobs[each].blocks]))
            speed = 6 * config.dim * rows / middle
            print(
                f"  {each:12} {middle:6.0f} ns ({min(times):.0f} to {max(times):.0f}) "
                f"an example of {rows:.1f} rows, {middle / rows:5.1f} ns a row, "
                f"{speed:5.1f} Gflop/s"
            )
    in_registers(1)
    worth = sorted(at_once(2) / at_once(1) for _ in range(asked.turns))
    print(
        f"in registers alone, two threads are worth {statistics.median(worth):.2f} of "
        f"one ({worth[0]:.2f} to {worth[-1]:.2f})"
    )


if __name__ == "__main__":
    main()
