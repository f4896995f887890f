"""Numbers of words on their way to the shards, in the order of the text.

While text is scanned nobody knows yet which words will be kept. So the numbers
that the threads give are written down as they come, and become ids afterwards
(encode.py): the text is read, decompressed and cut into words only once.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from feedline.words.text.unwritable import unwritable

_BYTES_PER_FILE = 1 << 28
# Blocks that may wait for one before them; more would be memory without gain.
_WAITING = 8


@dataclass(frozen=True)
class Part:
    """The numbers of one block: how many, and by whose table they go."""

    file: int
    size: int
    lane: int
    era: int


class Spool:
    """Files of int32 in a directory, written in parts and read once."""

    def __init__(self, directory: Path, name: str) -> None:
        self.directory = directory
        self._name = name
        self._parts: list[Part] = []
        self._open: IO[bytes] | None = None
        self._file = -1
        self._filled = 0
        self._next = 0
        self._waiting: dict[int, tuple[int, int, NDArray[np.int32]]] = {}
        self._turn = threading.Condition()
        self._stopped = False
        self.size = 0

    def put(self, number: int, lane: int, era: int, ids: NDArray[np.int32]) -> None:
        """Write block `number`; blocks may come out of order, from many threads."""
        with self._turn:
            while number > self._next + _WAITING and not self._stopped:
                self._turn.wait()
            if self._stopped:
                return
            if number != self._next:
                self._waiting[number] = (lane, era, ids.copy())
                return
            self._write(lane, era, ids)
            self._next += 1
            while self._next in self._waiting:
                self._write(*self._waiting.pop(self._next))
                self._next += 1
            self._turn.notify_all()

    def append(self, ids: NDArray[np.int32]) -> None:
        """Write the next numbers, where one thread writes all."""
        self.put(self._next, 0, 0, ids)

    def stop(self) -> None:
        """Let no one wait any longer: a block before theirs will not come."""
        with self._turn:
            self._stopped = True
            self._turn.notify_all()

    def read(
        self, *, keep: bool = False
    ) -> Iterator[tuple[int, int, NDArray[np.int32]]]:
        """Lane, era and numbers of every part; a file that is read is deleted."""
        self.close()
        buffer = np.empty(max((part.size for part in self._parts), default=0), np.int32)
        opened = -1
        file: IO[bytes] | None = None
        try:
            for part in self._parts:
                if part.file != opened:
                    if file is not None:
                        file.close()
                        if not keep:
                            self._path(opened).unlink()
                    opened = part.file
                    file = self._path(opened).open("rb", buffering=0)
                ids = buffer[: part.size]
                _read_all(file, ids)
                yield part.lane, part.era, ids
        finally:
            if file is not None:
                file.close()
                if not keep:
                    self._path(opened).unlink(missing_ok=True)

    def close(self) -> None:
        """Let go of the file that is being written."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def _write(self, lane: int, era: int, ids: NDArray[np.int32]) -> None:
        if not len(ids):
            return
        try:
            if self._open is None or self._filled >= _BYTES_PER_FILE:
                self.close()
                self._file += 1
                self._filled = 0
                self._open = self._path(self._file).open("xb", buffering=0)
            data = np.ascontiguousarray(ids).data.cast("B")
            while data:
                data = data[self._open.write(data) :]
        except OSError as error:
            raise unwritable(self._path(self._file), error) from error
        self._filled += ids.nbytes
        self.size += len(ids)
        self._parts.append(Part(self._file, len(ids), lane, era))

    def _path(self, file: int) -> Path:
        return self.directory / f"{self._name}-{file:05}.spool"


def _read_all(file: IO[bytes] | None, ids: NDArray[np.int32]) -> None:
    view = ids.data.cast("B")
    while view and file is not None:
        got = os.readv(file.fileno(), [view])
        if got == 0:
            raise OSError(f"{file.name} was cut off by someone else")
        view = view[got:]
