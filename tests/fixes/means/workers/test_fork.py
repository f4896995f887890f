"""A process is forked while other threads of it compute."""

import subprocess
import sys

import pytest
from tests.place import LIMIT

from feedline.fixes.means.workers import Refused, fork

PROGRAM = """
import threading
import numpy as np
from feedline.fixes.means.workers.pool import Pool

a, b = np.random.default_rng(0).normal(size=(2, 300, 300)).astype(np.float32)
products = 0

def multiply():
    global products
    while True:
        a @ b
        products += 1

threading.Thread(target=multiply, daemon=True).start()
for number in range(12):
    pool = Pool(lambda n: (a @ b)[n], 2)
    row = pool.call((number,), lambda: None)
    assert np.allclose(row, (a @ b)[number], atol=1e-4), row
    assert not pool.broken
    pool.close()
seen = products
while products == seen:
    pass
print("goes on")
"""


def test_while_a_thread_multiplies():
    """OpenBLAS ends its threads when it hears of a fork: then both would wait."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=LIMIT,
    )
    assert done.stdout == "goes on\n", done.stderr


def test_a_system_that_cannot(monkeypatch):
    found = fork._function

    def missing(process, name, result=None):
        if name == "_Fork":
            raise AttributeError("undefined symbol: _Fork")
        return found(process, name, result)

    monkeypatch.setattr(fork, "_function", missing)
    fork._forking.cache_clear()
    try:
        with pytest.raises(Refused, match="undefined symbol: _Fork"):
            fork.fork()
    finally:
        fork._forking.cache_clear()
