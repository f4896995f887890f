"""Threads that the script cannot see, join or wait for.

`threading` keeps a list of its threads, and enters a stand-in for every other thread
that asks who it is, as logging does for each record. A script may join all of that
list. So the thread that writes is started below that module, and what logs in a thread
of TensorFlow's takes its stand-in off the list again.
"""

from __future__ import annotations

import _thread
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def unlisted() -> Iterator[None]:
    """Inside, this thread may ask who it is, and is not on the list after it."""
    listed: dict[int, Any] = getattr(threading, "_active", {})
    me = _thread.get_ident()
    known = me in listed
    try:
        yield
    finally:
        if not known:
            listed.pop(me, None)


class Unlisted:
    """A thread of ours. A forked process has no such thread, whatever it inherits."""

    def __init__(self, target: Callable[[], object]) -> None:
        self._process = os.getpid()
        self._running = _thread.allocate_lock()
        self._running.acquire()
        _thread.start_new_thread(self._run, (target,))

    def _run(self, target: Callable[[], object]) -> None:
        try:
            with unlisted():
                target()
        finally:
            self._running.release()

    def is_alive(self) -> bool:
        return self._running.locked() and os.getpid() == self._process

    def join(self) -> None:
        if os.getpid() == self._process:
            with self._running:
                pass
