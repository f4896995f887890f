"""Threads of ours in the script's process: it neither sees them nor waits for them.

`threading` keeps a list of its threads. A script may join all of it, count it, or wait
for it when it ends; so ours are started below that module, by `_thread`, and stay off
the list. Two rules keep them off: never call `threading.current_thread()` in one of
them (it would enter a stand-in), and never log there (a log record asks for the name of
its thread). They take no signals: Python would be slower to notice those.
"""

from __future__ import annotations

import _thread
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from time import sleep
from typing import Any


class Hidden:
    """One such thread, from the outside."""

    def __init__(self) -> None:
        self._running = _thread.allocate_lock()
        self._running.acquire()

    @property
    def alive(self) -> bool:
        return self._running.locked()

    def join(self, seconds: float | None = None) -> bool:
        """Wait until it has ended, at most so long; has it?"""
        ended = self._running.acquire(timeout=-1 if seconds is None else seconds)
        if ended:
            self._running.release()
        return ended

    def _run(self, target: Callable[..., object], args: tuple[Any, ...]) -> None:
        try:
            target(*args)
        except BaseException:  # nobody is there to be told
            pass
        finally:
            self._running.release()


def start(target: Callable[..., object], *args: Any) -> Hidden:
    """Run it in a thread of its own. What it raises is lost: catch it there."""
    thread = Hidden()
    with _without_signals():
        _thread.start_new_thread(thread._run, (target, args))
    return thread


def after(seconds: float, target: Callable[[], object]) -> Hidden:
    """Run it once so much time has passed."""

    def wait() -> None:
        sleep(seconds)
        target()

    return start(wait)


class Pool:
    """As many of them, which do what they are given one after the other."""

    def __init__(self, number: int) -> None:
        self._tasks: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]
        self._tasks = SimpleQueue()
        self._number = number
        for _ in range(number):
            start(self._work)

    def submit(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._tasks.put((future, lambda: function(*args)))
        return future

    def close(self) -> None:
        """What is not begun is not done; nobody waits for the rest."""
        with suppress(Empty):
            while task := self._tasks.get_nowait():
                task[0].cancel()
        for _ in range(self._number):
            self._tasks.put(None)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            future, function = task
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(function())
            except BaseException as error:
                future.set_exception(error)


@contextmanager
def _without_signals() -> Iterator[None]:
    """A thread starts with the signal mask of the one that starts it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
