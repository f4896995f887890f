"""Threads stop between two blocks, whenever they are asked to."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from feedline.words.engine.kinds import Tally
from feedline.words.loop import Leg


class Blocks:
    """Work whose blocks take a while, and which knows how many are under way."""

    def __init__(self):
        self.sizes = np.ones(100, np.int64)
        self.busy = 0

    def order(self, epoch):
        return np.arange(100)

    def run(self, epoch, place):
        self.busy += 1
        time.sleep(0.05)
        self.busy -= 1
        return Tally()


def test_an_interrupt_while_the_last_blocks_are_waited_for_leaves_none(monkeypatch):
    blocks, interrupts = Blocks(), [KeyboardInterrupt(), KeyboardInterrupt()]
    join = threading.Thread.join

    def interrupted(thread, timeout=None):
        if timeout is None and interrupts:
            raise interrupts.pop()
        join(thread, timeout)

    monkeypatch.setattr(threading.Thread, "join", interrupted)
    leg = Leg(blocks, 0, 0)
    with pytest.raises(KeyboardInterrupt):
        leg.run(2, lambda leg: leg.next > 3)
    assert not interrupts
    assert blocks.busy == 0
    assert leg.finished == leg.next
