"""Waiting for the script's process, and passing on to it what reaches ours.

While it lives nothing ends us: no signal, and no failure of ours. When the terminal
stops it (Ctrl-Z), we stop as well, so that the shell sees what it would see without us.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress

from feedline.process.signals import Received, Signals

_LOOK_S = 0.5
_OF_JOB_CONTROL = {"SIGTSTP", "SIGTTIN", "SIGTTOU"}


def follow(
    process: subprocess.Popen[bytes],
    signals: Signals,
    received: Callable[[Received], None],
    look: Callable[[], None] = lambda: None,
) -> int:
    """Its exit code, or the negative number of the signal that killed it. `received` is
    told of every signal, `look` is called twice a second."""
    while True:
        code = _ended(process)
        if code is not None:
            return code
        got = signals.next(_LOOK_S)
        with suppress(Exception):
            if got is not None:
                received(got)
            look()


def pass_on(process: subprocess.Popen[bytes], got: Received) -> None:
    """What the script itself sends to the process that started it goes up, as it would
    without us."""
    if got.shared:
        return
    with suppress(OSError):
        if got.sender == process.pid:
            os.kill(os.getppid(), got.number)
        else:
            os.kill(process.pid, got.number)


def _ended(process: subprocess.Popen[bytes]) -> int | None:
    if not hasattr(os, "WUNTRACED"):
        with suppress(subprocess.TimeoutExpired):
            return process.wait(0)
        return None
    try:
        pid, status = os.waitpid(process.pid, os.WNOHANG | os.WUNTRACED)
    except ChildProcessError:  # somebody else has waited for it
        process.returncode = 0 if process.returncode is None else process.returncode
        return process.returncode
    if pid == 0:
        return None
    if os.WIFSTOPPED(status):
        if signal.Signals(os.WSTOPSIG(status)).name in _OF_JOB_CONTROL:
            os.kill(os.getpid(), signal.SIGSTOP)
        return None
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode
