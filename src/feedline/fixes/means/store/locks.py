"""File locks that end with their process, however it ends.

`flock` belongs to the open file: the kernel lets go of it when the last copy of
the descriptor is closed, also after `kill -9`. A forked child has such a copy
and would keep the lock beyond its parent, so children close theirs at once.

Not the library `filelock`: a writer goes on as a reader here, and shares its lock with
no moment between, which that library's locks cannot.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from pathlib import Path

from feedline.fixes.means.errors import Refused

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

_PATIENCE_S = 20.0
_held: set[int] = set()


class Lock:
    """A lock that this process holds; `close` lets go of it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        _held.add(descriptor)

    @property
    def is_current(self) -> bool:
        """Is the locked file still there, not one that was removed meanwhile?"""
        return os.fstat(self._descriptor).st_nlink > 0

    def share(self) -> None:
        """From now on others may hold it too; none of them alone."""
        fcntl.flock(self._descriptor, fcntl.LOCK_SH)

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor in _held:
            _held.discard(descriptor)
            os.close(descriptor)

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def try_lock(path: Path, *, shared: bool = False, create: bool = False) -> Lock | None:
    """The lock, or None where somebody else has it or the file is not there."""
    if fcntl is None:
        raise Refused("a disk cache needs file locks, which this system has not")
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_CREAT if create else 0)
    try:
        descriptor = os.open(path, flags, 0o600)
    except FileNotFoundError:
        return None
    try:
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return None
        raise Refused(
            f"the file system of {path.parent} has no file locks: {error}. Set "
            "FEEDLINE_CACHE to a folder on a local disk."
        ) from error
    return Lock(descriptor)


def lock(path: Path) -> Lock:
    """The lock for oneself, waited for: nobody holds it for long."""
    until = time.monotonic() + _PATIENCE_S
    while (found := try_lock(path, create=True)) is None:
        if time.monotonic() > until:
            raise Refused(
                f"another process has kept {path} locked for {_PATIENCE_S:.0f} s"
            )
        time.sleep(0.01)
    return found


def _forget() -> None:
    for descriptor in list(_held):
        with contextlib.suppress(OSError):
            os.close(descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
