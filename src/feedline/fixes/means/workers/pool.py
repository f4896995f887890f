"""Calls of one function, answered by several processes.

Each process has two lines, so that its next call lies ready when it has answered
one. Whoever calls waits for his own answer; who keeps the order is the caller.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from feedline.fixes.means.workers.process import Channel, Child, Lost, answering, calls

LINES = 2
PATIENCE_S = 120.0
_log = logging.getLogger(__name__)


class Pool:
    """`workers` processes that run `function`, forked now: they see the script's
    state as it is at this moment."""

    def __init__(
        self,
        function: Callable[..., Any],
        workers: int,
        *,
        patience: float = PATIENCE_S,
    ) -> None:
        self.broken: str | None = None
        self._patience = patience
        self._free = threading.Condition()
        self._busy: dict[Channel, bool] = {}
        self._children: list[Child] = []
        try:
            for _ in range(workers):
                child = Child(answering(function), LINES)
                self._children.append(child)
                self._busy |= dict.fromkeys(child.channels, False)
        except BaseException:
            self.close()
            raise

    def call(self, args: tuple[Any, ...], here: Callable[[], Any]) -> Any:
        """The function of `args` from a worker. `here` computes the same in this
        process: when the workers are no use, and when one of them raised, so
        that the exception is the job's own. What fails there and works here is
        the workers' fault, and they are not asked again."""
        with calls:
            return self._call(args, here)

    def _call(self, args: tuple[Any, ...], here: Callable[[], Any]) -> Any:
        channel = self._take()
        if channel is None:
            calls.check()
            return here()
        try:
            channel.send(args)
            result = channel.receive(self._patience)
        except Lost as error:
            calls.check()
            self._break(str(error))
            return here()
        except Exception as error:  # of the function, or of sending to it
            self._give(channel)
            result = here()
            first = str(error).strip().splitlines() or [type(error).__name__]
            self._break(f"what works in the job fails in a worker: {first[-1]}")
            return result
        except BaseException:  # interrupted: an answer nobody waits for is on its way
            self._break("interrupted")
            raise
        self._give(channel)
        return result

    def close(self) -> None:
        with self._free:
            self.broken = self.broken or "closed"
            self._busy.clear()
            self._free.notify_all()
        for child in self._children:
            child.kill()

    def _break(self, reason: str) -> None:
        with self._free:
            first = self.broken is None
            self.broken = self.broken or reason
            self._busy.clear()
            self._free.notify_all()
        if first:
            _log.warning("worker processes given up, the job goes on alone: %s", reason)
            for child in self._children:
                child.kill()

    def _take(self) -> Channel | None:
        """A free line, of the least busy child; None where there is no pool."""
        if self.broken or not self._children[0].is_mine:
            return None
        with self._free:
            while self.broken is None:
                free = [
                    (sum(self._busy[line] for line in child.channels), line)
                    for child in self._children
                    for line in child.channels
                    if not self._busy[line]
                ]
                if free:
                    channel = min(free, key=lambda pair: pair[0])[1]
                    self._busy[channel] = True
                    return channel
                self._free.wait(1.0)
                calls.check()
        return None

    def _give(self, channel: Channel) -> None:
        with self._free:
            if channel in self._busy:
                self._busy[channel] = False
                self._free.notify()
