"""Descriptors that feedline keeps open in the script's process.

A script may count on the first free number being 3, may close all numbers from 3 on,
and may give the number of one of ours to a file of its own. So ours lie high up, are
closed in whatever the script starts, and are looked at before each use.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

_TOP = 1024
_ROOM = 32


@dataclass(frozen=True)
class Kept:
    """A descriptor of ours and the file that it stood for when we got it."""

    number: int
    device: int
    inode: int

    @classmethod
    def of(cls, number: int) -> Kept:
        """Takes the descriptor over; it moves. Raises OSError."""
        number = _moved(number)
        facts = os.fstat(number)
        return cls(number, facts.st_dev, facts.st_ino)

    def still_ours(self) -> bool:
        try:
            facts = os.fstat(self.number)
        except OSError:
            return False
        return (facts.st_dev, facts.st_ino) == (self.device, self.inode)

    def close(self) -> None:
        if self.still_ours():
            os.close(self.number)


def _moved(number: int) -> int:
    """The same file at a high number, closed on exec."""
    try:
        import fcntl
        import resource
    except ImportError:  # Windows
        os.set_inheritable(number, False)
        return number
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    least = (min(soft, _TOP) if soft > 0 else _TOP) - _ROOM
    try:
        high = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, max(3, least))
    except OSError:
        os.set_inheritable(number, False)
        return number
    os.close(number)
    return high
