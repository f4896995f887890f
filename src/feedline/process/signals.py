"""Signals that reach feedline while a script runs in another process.

They are blocked, so that none ends feedline while the script lives, and asked for one
by one. A process that is started meanwhile starts with all of them blocked: `before` is
the mask that it has to put back.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from dataclasses import dataclass
from time import sleep
from types import FrameType
from typing import Any

from feedline.process.canary import Canary

_SI_KERNEL = 128
_UNCATCHABLE = {"SIGKILL", "SIGSTOP", "SIGCHLD"}
_OF_A_TERMINAL = {"SIGINT", "SIGQUIT", "SIGTSTP"}


@dataclass(frozen=True)
class Received:
    """`shared`: the script got it as well. `ignored`: whoever started feedline did not
    want it to end by this (`nohup`). `sender` is 0 where that is not known."""

    number: int
    sender: int = 0
    shared: bool = False
    ignored: bool = False

    @property
    def name(self) -> str:
        return _name(self.number)

    def is_one_of(self, *names: str) -> bool:
        return not self.ignored and self.name in names


class Signals:
    def __init__(self) -> None:
        self.before: frozenset[int] = frozenset()
        self._ignored: frozenset[int] = frozenset()
        self._handlers: dict[int, Any] = {}
        self._canary: Canary | None = None
        self._kept: deque[int] = deque()

    def __enter__(self) -> Signals:
        if threading.current_thread() is not threading.main_thread():
            return self
        every: set[int] = {
            n for n in signal.valid_signals() if _name(n) not in _UNCATCHABLE
        }
        # Python itself ignores these two.
        own = {getattr(signal, name, 0) for name in ("SIGPIPE", "SIGXFSZ")}
        self._ignored = frozenset(
            n for n in every - own if signal.getsignal(n) is signal.SIG_IGN
        )
        if hasattr(signal, "sigtimedwait"):
            every.add(signal.SIGCHLD)
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, every)
            self.before = frozenset(map(int, mask))
            self._canary = Canary()
        else:
            self._take_over(every - self._ignored)
        return self

    def _take_over(self, numbers: set[int]) -> None:
        def keep(number: int, _: FrameType | None) -> None:
            self._kept.append(number)

        for number in numbers:
            try:
                self._handlers[number] = signal.signal(number, keep)
            except (OSError, ValueError, RuntimeError):
                continue

    def __exit__(self, *_: object) -> None:
        if self._canary is not None:
            self._canary.close()
            self._canary = None
            signal.pthread_sigmask(signal.SIG_SETMASK, self.before)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def next(self, seconds: float) -> Received | None:
        """The next one; None when so much time has passed, or a process has ended or
        stopped."""
        if self._canary is None:
            return self._next_kept(seconds)
        found = signal.sigtimedwait(signal.valid_signals(), seconds)
        if found is None or found.si_signo == signal.SIGCHLD:
            return None
        shared = self._canary.heard(found.si_signo)
        if shared is None:
            shared = found.si_code == _SI_KERNEL
        return Received(
            found.si_signo,
            0 if found.si_code > 0 else found.si_pid,
            shared,
            found.si_signo in self._ignored,
        )

    def remember(self, folder: str) -> None:
        """A folder that must go, also when one signal too many ends us."""
        if self._canary is not None:
            self._canary.remember(folder)

    def _next_kept(self, seconds: float) -> Received | None:
        if not self._kept:
            sleep(min(seconds, 0.2))
        if not self._kept:
            return None
        number = self._kept.popleft()
        return Received(number, 0, _name(number) in _OF_A_TERMINAL and _on_a_terminal())


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return str(number)


def _on_a_terminal() -> bool:
    return any(os.isatty(number) for number in range(3))
