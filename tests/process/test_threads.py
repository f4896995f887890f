"""Threads that the rest of the process neither sees nor waits for."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from feedline.process import threads


def test_nobody_sees_it_and_it_can_be_waited_for():
    go, inside = threading.Event(), []
    before = threading.enumerate()

    def work(what):
        inside.append(what)
        go.wait(20)

    thread = threads.start(work, "here")
    assert threading.enumerate() == before
    assert thread.alive
    assert not thread.join(0.01)
    go.set()
    assert thread.join(20)
    assert not thread.alive
    assert inside == ["here"]
    assert threading.enumerate() == before


def test_what_it_raises_reaches_nobody(capfd):
    def fails():
        raise SystemExit(3)

    assert threads.start(fails).join(20)
    assert threads.start(lambda: 1 / 0).join(20)
    assert capfd.readouterr() == ("", "")


def test_a_process_does_not_wait_for_it():
    program = (
        "import time; from feedline.process import threads\n"
        "threads.after(0, lambda: time.sleep(1000))\nthreads.start(time.sleep, 1000)"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0


def test_a_pool_does_what_it_is_given():
    before = threading.enumerate()
    pool = threads.Pool(3)
    found = [pool.submit(lambda n: n * n, n) for n in range(20)]
    assert [each.result(20) for each in found] == [n * n for n in range(20)]
    with pytest.raises(ZeroDivisionError):
        pool.submit(lambda: 1 / 0).result(20)
    go = threading.Event()
    held = [pool.submit(go.wait, 20) for _ in range(3)]
    while not all(each.running() for each in held):
        pass
    late = pool.submit(print)
    pool.close()
    assert late.cancelled()
    go.set()
    assert all(each.result(20) for each in held)
    assert threading.enumerate() == before
