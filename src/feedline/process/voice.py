"""What feedline says while a script runs: to the standard error that was there at the
start, and nowhere else.

A script may put a tee in the place of `sys.stderr`, send descriptor 2 to a file, or log
everything to its own handlers. Our lines are not its lines. Whatever fails here fails
silently: a script may live without a standard error, so may we.
"""

from __future__ import annotations

import errno
import io
import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from feedline.process.descriptors import Kept

_PATIENCE_S = 2.0


class Voice(io.TextIOBase):
    """A text file that others may write to as well."""

    def __init__(self, number: int | None = None) -> None:
        """`number` is taken over; without one, it is what descriptor 2 is now."""
        self._encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
        self._file: Kept | None = None
        with suppress(OSError):
            self._file = Kept.of(os.dup(2) if number is None else number)

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding

    def say(self, text: str) -> None:
        self.write(f"feedline: {text}\n")

    def write(self, text: str) -> int:
        with suppress(OSError, ValueError):
            if self._file is not None and self._file.still_ours():
                self._send(text.encode(self._encoding, "backslashreplace"))
        return len(text)

    def _send(self, data: bytes) -> None:
        assert self._file is not None
        with _broken_pipes_ignored():
            while data:
                try:
                    data = data[os.write(self._file.number, data) :]
                except BlockingIOError:
                    ready = select.select([], [self._file.number], [], _PATIENCE_S)
                    if not ready[1]:
                        return

    def isatty(self) -> bool:
        return self._file is not None and os.isatty(self._file.number)

    def close(self) -> None:
        """It stays open as long as the process lives."""


@contextmanager
def _broken_pipes_ignored() -> Iterator[None]:
    """The script may have asked to be killed when nobody reads what *it* writes."""
    if not hasattr(signal, "sigtimedwait"):
        yield
        return
    pipe = {signal.SIGPIPE}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, pipe)
    try:
        yield
    except OSError as error:
        if error.errno == errno.EPIPE and signal.SIGPIPE not in before:
            signal.sigtimedwait(pipe, 0)
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
