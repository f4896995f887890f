"""Which files does a call read, and are they as they were?

Python tells its audit hooks of every file that is opened. A file is known by its
device, number, size and times. One that changed a moment ago could change again within
the same tick of the clock: what was read from it is not kept.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_SETTLED_S = 2.0
_local = threading.local()

Stamp = tuple[int, ...]


class Files:
    """Those that were opened. `unknown`: one that nobody can look at again."""

    def __init__(self) -> None:
        self.stamps: dict[str, Stamp] = {}
        self.unknown = False

    def opened(self, path: Any, mode: Any) -> None:
        if isinstance(mode, str) and set(mode) & set("wax+"):
            self.unknown = True
            return
        try:
            name = os.fsdecode(path)
        except TypeError:  # a descriptor
            self.unknown = True
            return
        stamp = stamp_of(name)
        known = self.stamps.setdefault(name, stamp or ())
        if stamp is None or known != stamp or not settled(stamp):
            self.unknown = True

    def unchanged(self) -> bool:
        return all(stamp_of(name) == stamp for name, stamp in self.stamps.items())


def stamp_of(name: str) -> Stamp | None:
    try:
        found = os.stat(name)
    except (OSError, ValueError):
        return None
    return (
        *(found.st_dev, found.st_ino, found.st_mode, found.st_size),
        *(found.st_mtime_ns, found.st_ctime_ns),
    )


def settled(stamp: Stamp, now: Callable[[], float] = time.time) -> bool:
    return now() - max(stamp[-2:]) / 1e9 > _SETTLED_S


@contextmanager
def watched() -> Iterator[Files]:
    """The files that this thread opens meanwhile."""
    _listen()
    before, found = getattr(_local, "files", None), Files()
    _local.files = found
    try:
        yield found
    finally:
        _local.files = before


@cache
def _listen() -> None:
    """Python has no way to take a hook off again; it does nothing for others."""

    def heard(event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            files = getattr(_local, "files", None)
            if files is not None:
                files.opened(args[0], args[1])

    sys.addaudithook(heard)
