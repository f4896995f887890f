"""Standard input that is given twice: to a rehearsal, then to the run that counts.

- A file is opened once more, at the place where it stands: nothing of it is used up.
- A pipe can be read only once. What a rehearsal takes from it is kept; the run gets
  that first, then the rest, through a pipe again. As long as nothing was taken, the run
  gets the pipe itself.
- A terminal, or anything else: a rehearsal finds it empty. Nobody is asked twice.
"""

from __future__ import annotations

import os
import select
import stat
from contextlib import suppress

from feedline.process import threads

_BLOCK = 65536
_MOST = 256 * 2**20


class Stdin:
    """Descriptor `number` of this process."""

    def __init__(self, number: int = 0, most: int = _MOST) -> None:
        self._number = number
        self._most = most
        self._kept = bytearray()
        self._over = False  # the pipe has come to its end
        self._stop = False
        self._pump: threads.Hidden | None = None
        self.too_much = False

    def for_rehearsal(self) -> int:
        """A descriptor to start it with; close it then."""
        with suppress(OSError):
            mode = os.fstat(self._number).st_mode
            if stat.S_ISREG(mode):
                return self._opened_again()
            if stat.S_ISFIFO(mode):
                reads, writes = os.pipe()
                self._pump = threads.start(self._keep, writes)
                return reads
        return os.open(os.devnull, os.O_RDONLY)

    def _opened_again(self) -> int:
        place = os.lseek(self._number, 0, os.SEEK_CUR)
        again = os.open(f"/proc/self/fd/{self._number}", os.O_RDONLY)
        os.lseek(again, place, os.SEEK_SET)
        return again

    def _keep(self, writes: int) -> None:
        """Hand the pipe on, block by block, until the rehearsal ends."""
        try:
            while not self._stop:
                if not self._ready(self._number):
                    continue
                if len(self._kept) >= self._most:
                    self.too_much = True
                    return
                block = os.read(self._number, _BLOCK)
                self._over = not block
                if self._over:
                    return
                self._kept += block
                _write_all(writes, block)
        finally:
            os.close(writes)

    def _ready(self, number: int) -> bool:
        return bool(select.select([number], [], [], 0.1)[0])

    def rehearsed(self) -> None:
        """The rehearsal is over: nothing more is taken from the pipe."""
        self._stop = True
        if self._pump is not None:
            self._pump.join(2.0)

    def for_run(self) -> int | None:
        """A descriptor to start the run with; close it then. None: it is as it was."""
        if not self._kept and not self._over:
            return None
        reads, writes = os.pipe()
        threads.start(self._give, writes)
        return reads

    def _give(self, writes: int) -> None:
        try:
            _write_all(writes, bytes(self._kept))
            self._kept.clear()
            while not self._over:
                select.select([self._number], [], [])
                block = os.read(self._number, _BLOCK)
                self._over = not block
                _write_all(writes, block)
        finally:
            os.close(writes)


def _write_all(number: int, data: bytes) -> None:
    """Raises BrokenPipeError when nobody reads any more."""
    while data:
        data = data[os.write(number, data) :]
