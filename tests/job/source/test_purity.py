"""Which functions are seen to keep nothing between two calls."""

import functools
import os
import random
import subprocess
import time

import numpy as np
import pytest

from feedline.job.source.purity import Purity, purity

pytestmark = pytest.mark.tensorflow


def test_purity():
    calls = []
    count = 0
    rng = np.random.default_rng(0)
    numbers = iter([1, 2, 3])

    def clean(x):
        total = [n * 2 for n in range(3)]
        return np.sqrt(x) + sum(total) + helper(x)

    def helper(x):
        return len(str(x).upper())

    def counts(x):
        nonlocal count
        count += 1
        return x

    def marks(x):
        global _marked  # noqa: PLW0603
        _marked = x
        return x

    def seeded(x):
        return np.random.default_rng(int(x)).normal()

    assert purity(clean).pure is True
    for impure, why in (
        (counts, "count"),
        (marks, "_marked"),
        (lambda x: x + random.random(), "random"),
        (lambda x: x + np.random.rand(), "rand"),
        (lambda x: x + rng.normal(), "rng"),
        (lambda x: x + next(numbers), "numbers"),
        (lambda x: counts(x) + 1, "count"),
        (functools.partial(lambda r, x: r.random() + x, random.Random(1)), "draws"),
    ):
        hint = purity(impure)
        assert hint.pure is False, why
        assert any(why in reason for reason in hint.reasons)
    for unknown in (
        seeded,
        lambda x: calls.append(x) or x,
        lambda x: open(x).read(),  # noqa: SIM115
        lambda x: time.time() + x,
        lambda x: subprocess.run(x).stdout,
    ):
        hint = purity(unknown)
        assert hint.pure is None
        assert hint.reasons


def test_what_a_function_makes_itself_it_may_change():
    kept, rows = np.zeros(9), [[1, 2], [3]]

    def fills(x):
        out = np.zeros((2, 9), np.float32)
        for i, row in enumerate(rows):
            for n in row:
                out[i, n] += 1.0
        return out + x

    def collects(x):
        made = []
        made.append(x)
        made += rows[0]
        return np.stack(made)

    def opens(x):
        with open(os.path.join("folder", str(x)), "rb") as file:
            return np.frombuffer(file.read(), np.uint8)

    def an_argument(x):
        x[0] = 1
        return x + kept

    def another_name(x):
        out = np.zeros(3)
        out = kept
        out[0] = x
        return out

    def one_of_its_items(x):
        made = [kept]
        made[0][1] = x
        return made

    def by_a_loop(x):
        for row in rows:
            row.append(x)
        return x

    def writes(x):
        with open("log", "a") as file:
            file.write(str(x))
        return x

    def of_others(x):
        for a in kept.copy(), rows:
            rows[0][0] = a
        return x

    for clean in (fills, collects):
        assert purity(clean) == Purity(True)
    assert purity(opens) == Purity(True, opens=True)
    unclean = (an_argument, another_name, one_of_its_items, by_a_loop, writes)
    for doubtful in (*unclean, of_others):
        assert purity(doubtful).pure is not True
