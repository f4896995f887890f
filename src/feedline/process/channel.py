"""A message to another process: whole or not at all, of any size.

The bytes lie in a file without a name, in memory (`memfd_create`), whose descriptor the
other process inherits: no argument is too long, no folder is needed, no disk can be
full, and what was written stays when its writer is killed. Where the system has no such
files, a temporary file does the same.

    offset 0, and each multiple of a page after it:
        8 bytes   how many bytes the message has; 0 while it is not whole
        n bytes   the message

Messages follow one another, and the last one counts. A message's length is written
after all of it, so a writer that dies in between has written nothing. It is written
through a mapping: the script may have limited the size of files (RLIMIT_FSIZE), which a
mapping does not ask. The room is allotted first, so that memory that is short is an
error and no signal.
"""

from __future__ import annotations

import _thread
import mmap
import os
import struct
import tempfile
from contextlib import suppress
from pathlib import Path

from feedline.process.descriptors import Kept

_LENGTH = struct.Struct("<Q")
_PAGE = mmap.ALLOCATIONGRANULARITY
_SIZE = 2**32  # of the file, not of any memory


class Channel:
    """One end. `address` tells the process that inherits `inherited` how to get at the
    other."""

    def __init__(self, file: Kept, address: str, inherited: int | None) -> None:
        self._file = file
        self.address = address
        self.inherited = inherited
        self._lock = _thread.allocate_lock()

    @classmethod
    def make(cls) -> Channel:
        """Raises OSError where the system gives neither memory nor a file."""
        if hasattr(os, "memfd_create"):
            with suppress(OSError):
                number = os.memfd_create("feedline", os.MFD_CLOEXEC)
                os.ftruncate(number, _SIZE)
                file = Kept.of(number)
                return cls(file, f"fd:{file.number}", file.number)
        number, path = tempfile.mkstemp(prefix="feedline-")
        return cls(Kept.of(number), f"path:{path}", None)

    @classmethod
    def at(cls, address: str) -> Channel:
        """The end that a process finds when it starts."""
        kind, _, name = address.partition(":")
        number = int(name) if kind == "fd" else os.open(name, os.O_RDWR)
        return cls(Kept.of(number), "", None)

    def put(self, message: bytes) -> None:
        """Raises OSError where it cannot be written; then nothing is."""
        if not self._file.still_ours():
            raise OSError("the script has closed the file of the message")
        held = self._lock.acquire(timeout=5)  # for ever, if it was held at a fork
        try:
            self._write(self._walk()[0], message)
        finally:
            if held:
                self._lock.release()

    def _write(self, start: int, message: bytes) -> None:
        number, size = self._file.number, _LENGTH.size + len(message)
        if os.fstat(number).st_size < start + size:
            os.ftruncate(number, start + size)
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(number, start, size)
        with mmap.mmap(number, size, offset=start) as room:
            room[_LENGTH.size :] = message
            room[: _LENGTH.size] = _LENGTH.pack(len(message))

    def get(self) -> bytes | None:
        """The last message that is whole; None where there is none."""
        try:
            return self._read(self._walk()[1])
        except OSError:
            return None

    def _read(self, start: int | None) -> bytes | None:
        if start is None:
            return None
        left = self._length(start)
        parts, start = [], start + _LENGTH.size
        while left:
            part = os.pread(self._file.number, left, start)
            if not part:
                return None
            parts.append(part)
            left, start = left - len(part), start + len(part)
        return b"".join(parts)

    def _walk(self) -> tuple[int, int | None]:
        """Where the next message goes, and where the last one stands."""
        start, last = 0, None
        while length := self._length(start):
            last = start
            start += -(-(_LENGTH.size + length) // _PAGE) * _PAGE
        return start, last

    def _length(self, start: int) -> int:
        found = os.pread(self._file.number, _LENGTH.size, start)
        return int(_LENGTH.unpack(found)[0]) if len(found) == _LENGTH.size else 0

    def close(self) -> None:
        with suppress(OSError):
            self._file.close()
        if self.address.startswith("path:"):
            with suppress(OSError):
                Path(self.address.removeprefix("path:")).unlink()
