"""Threads that take blocks in order, and stop between two blocks when asked.

A leg is a stretch of one epoch: threads are started, each takes the next block
until none is left or a stop is asked for, and all are joined. What was taken is
then done, so a place in the order is all there is to know about where training
stands, and the matrices can be saved.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from feedline.words.engine.kinds import Tally
from feedline.words.engine.runner import Alone, Runner

_LOOK = 0.1
_PAUSE = 0.001


class Work(Protocol):
    """Blocks, in an order for each epoch."""

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How much work each block is."""

    def order(self, epoch: int) -> NDArray[np.int64]:
        """The blocks of an epoch, as they are to be taken."""

    def run(self, epoch: int, place: int) -> Tally:
        """Do the block at a place of the epoch's order."""


class Flag:
    """As `threading.Event`, without its lock: an interrupt that comes while the main
    thread takes that one leaves it taken, and the next to ask for it waits forever."""

    def __init__(self) -> None:
        self._set = False

    def set(self) -> None:
        self._set = True

    def is_set(self) -> bool:
        return self._set


@dataclass
class Leg:
    """One stretch of an epoch. `next` is the first block that was not taken."""

    task: Work
    epoch: int
    next: int
    tally: Tally = field(default_factory=Tally)
    finished: int = 0
    """Work done in this leg, in the unit of `Task.sizes`."""
    runner: Runner | None = None
    """What has work under way when a block is handed in, or other machines to
    agree with on where to stop."""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _stop: Flag | threading.Event = field(default_factory=Flag, repr=False)
    _busy: set[int] = field(default_factory=set, repr=False)
    _error: BaseException | None = field(default=None, repr=False)

    def run(self, threads: int, watch: Callable[[Leg], bool]) -> bool:
        """Work until the epoch ends, or until `watch`, called ten times a second,
        says stop. Tells whether the epoch ended."""
        workers = [
            threading.Thread(target=self._work, name=f"words-{number}", daemon=True)
            for number in range(threads)
        ]
        try:
            for worker in workers:
                worker.start()
            while any(worker.is_alive() for worker in workers):
                for worker in workers:
                    if worker.is_alive():
                        worker.join(_LOOK)
                        break
                if not self._stop.is_set() and watch(self):
                    self._stop.set()
        finally:
            self._settle(workers)
            if self._error is None and self.runner is not None:
                self.tally += self.runner.flush()
        if self._error is not None:
            raise self._error
        return self.next >= len(self.task.sizes)

    def _settle(self, workers: list[threading.Thread]) -> None:
        """Wait for the blocks under way. An interrupt too ends between blocks, also
        one that comes while we wait: matrices may not be saved while they change."""
        interrupt: KeyboardInterrupt | None = None
        while True:
            try:
                self._stop.set()
                for worker in workers:
                    if worker.ident is not None:
                        worker.join()
                # A join that was interrupted takes the thread for ended, up to 3.12.
                while self._busy:
                    time.sleep(_PAUSE)
                break
            except KeyboardInterrupt as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt

    def _work(self) -> None:
        # Before it looks for a stop: who has said stop and then sees nobody here finds
        # that nobody takes a block any more.
        self._busy.add(threading.get_ident())
        try:
            order = self.task.order(self.epoch)
            peers = Alone() if self.runner is None else self.runner.peers
            while not peers.any(self._stop.is_set()):
                with self._lock:
                    place = self.next
                    if place >= len(order):
                        return
                    self.next = place + 1
                done = self.task.run(self.epoch, place)
                with self._lock:
                    self.tally += done
                    self.finished += int(self.task.sizes[order[place]])
        except BaseException as error:
            self._error = error
            self._stop.set()
        finally:
            self._busy.discard(threading.get_ident())
