"""Threads stop between two blocks, whenever they are asked to."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from feedline.words.engine.kinds import Tally
from feedline.words.training.loop import Leg

# Reached only where a thread hangs.
LIMIT = 300


class Blocks:
    """Work whose blocks take until they are let go, and which knows how many are
    under way."""

    def __init__(self):
        self.sizes = np.ones(100, np.int64)
        self.busy = 0
        self.changed = threading.Condition()
        self.let_go = threading.Event()

    def order(self, epoch):
        return np.arange(100)

    def run(self, epoch, place):
        with self.changed:
            self.busy += 1
            self.changed.notify_all()
        self.let_go.wait(LIMIT)
        with self.changed:
            self.busy -= 1
        return Tally()

    def wait_for(self, busy):
        with self.changed:
            assert self.changed.wait_for(lambda: self.busy == busy, LIMIT)


def test_an_interrupt_while_the_last_blocks_are_waited_for_leaves_none(monkeypatch):
    blocks, interrupts = Blocks(), [KeyboardInterrupt(), KeyboardInterrupt()]
    join = threading.Thread.join

    def interrupted(thread, timeout=None):
        if timeout is None:
            if interrupts:
                raise interrupts.pop()
            blocks.let_go.set()
        join(thread, timeout)

    def interrupt(leg):
        blocks.wait_for(busy=2)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "join", interrupted)
    leg = Leg(blocks, 0, 0)
    try:
        with pytest.raises(KeyboardInterrupt):
            leg.run(2, interrupt)
        assert not interrupts
        assert blocks.busy == 0
        assert leg.finished == leg.next == 2
    finally:
        blocks.let_go.set()


def test_a_stop_leaves_the_blocks_that_were_not_taken():
    blocks = Blocks()

    class Stop(threading.Event):
        def set(self):
            super().set()
            blocks.let_go.set()

    def stop(leg):
        blocks.wait_for(busy=2)
        return True

    leg = Leg(blocks, 0, 0, _stop=Stop())
    assert not leg.run(2, stop)
    assert blocks.busy == 0
    assert leg.finished == leg.next == 2
