"""A process that ends when the one that started it does, however that ended.

`kill -9` of `feedline run` must end the script, as it would end plain Python: nobody
looks for the process behind the one that he has killed. Linux does it for us. Elsewhere
a thread looks once a second.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from time import sleep

from feedline.process import threads

_PR_SET_PDEATHSIG = 1


def end_with(parent: int) -> None:
    """`parent` is the process that started this one."""
    if not _asked_the_kernel():
        threads.start(_look, parent)
    if os.getppid() != parent:  # it was quicker
        _end()


def _asked_the_kernel() -> bool:
    if not sys.platform.startswith("linux"):
        return False
    with suppress(OSError, AttributeError, ImportError):
        import ctypes

        library = ctypes.CDLL(None)
        return bool(library.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL)) == 0)
    return False


def _look(parent: int) -> None:
    while os.getppid() == parent:
        sleep(1.0)
    _end()


def _end() -> None:
    with suppress(AttributeError):  # Windows has none
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(1)
