"""Text as a sequence of blocks, each cut where no word is cut.

Threads take blocks in turn; one block is read at a time, and its number keeps
the order. A block ends at the last line feed in it, or, where a line is longer
than a block, at the last whitespace, so that a line of any length needs no more
memory than a block. Every file ends with a line feed, whether it has one or not:
no sentence runs from one file into the next.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from feedline.words.text.readers import TextFile, TextStream, open_text
from feedline.words.text.scan import PADDING
from feedline.words.text.table import LONGEST
from feedline.words.text.vocabulary import WHITESPACE

BLOCK = 1 << 21


class Blocks(Protocol):
    """Where threads get text from."""

    done: int
    """Bytes of the files read so far, as they lie on disk."""
    total: int | None

    def take(self, buffer: bytearray) -> tuple[int, int] | None:
        """Fill a buffer: the block's number and size, or None after the last."""

    def close(self) -> None:
        """Let go of open files."""


class FileBlocks:
    """The blocks of some files.

    `whole` says that a run without any whitespace is text to be cut by someone
    later (a pattern, a callable), not one overlong word.
    """

    def __init__(
        self, files: Iterable[TextFile], *, whole: bool = False, block: int = BLOCK
    ) -> None:
        files = tuple(files)
        sizes = [file.size for file in files]
        self.total = None if None in sizes else sum(size or 0 for size in sizes)
        self.done = 0
        self._before = 0
        self._files: Iterator[TextFile] = iter(files)
        self._stream: TextStream | None = None
        self._carry = b""
        self._whole = whole
        self._block = max(block, 2 * LONGEST)
        self._number = 0
        self._lock = threading.Lock()

    def take(self, buffer: bytearray) -> tuple[int, int] | None:
        with self._lock:
            size = self._fill(buffer)
            if size == 0:
                return None
            number = self._number
            self._number += 1
            return number, size

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _fill(self, buffer: bytearray) -> int:
        if len(buffer) < self._block + 1 + PADDING:
            buffer.extend(bytes(self._block + 1 + PADDING - len(buffer)))
        filled = len(self._carry)
        buffer[:filled] = self._carry
        self._carry = b""
        while filled < self._block:
            if self._stream is None:
                file = next(self._files, None)
                if file is None:
                    return filled
                self._stream = open_text(file)
            with memoryview(buffer) as view, view[filled : self._block] as target:
                filled += self._stream.readinto(target)
            self.done = self._before + self._stream.position()
            if filled < self._block:  # the file's end; the next may fit as well
                self._before += self._stream.file.size or 0
                self.close()
                if filled and buffer[filled - 1] != 10:
                    buffer[filled] = 10
                    filled += 1
                continue
            cut = self._cut(buffer, filled)
            if cut:
                self._carry = bytes(memoryview(buffer)[cut:filled])
                return cut
            # Nothing but one word so far, and too long for a word already: its
            # beginning stands for all of it.
            filled = LONGEST + 1
        return filled

    def _cut(self, buffer: bytearray, size: int) -> int:
        cut = buffer.rfind(b"\n", 0, size) + 1
        if cut == 0:
            cut = 1 + max(buffer.rfind(byte, 0, size) for byte in WHITESPACE)
        if cut == 0 and self._whole:
            cut = size
            while cut > size - 4 and buffer[cut - 1] & 0xC0 == 0x80:
                cut -= 1
            if buffer[cut - 1] >= 0xC0:
                cut -= 1
        return cut


class SentenceBlocks:
    """The blocks of sentences that come from Python, as text of whole lines."""

    def __init__(
        self,
        sentences: Iterable[object],
        line_of: Callable[[object, int], bytes],
        block: int = BLOCK,
    ) -> None:
        self.total: int | None = None
        self.done = 0
        self._sentences = enumerate(sentences, 1)
        self._line_of = line_of
        self._block = block
        self._number = 0
        self._lock = threading.Lock()

    def take(self, buffer: bytearray) -> tuple[int, int] | None:
        with self._lock:
            lines: list[bytes] = []
            size = 0
            for number, sentence in self._sentences:
                line = self._line_of(sentence, number)
                lines.append(line)
                size += len(line)
                if size >= self._block:
                    break
            if size == 0:
                return None
            buffer[:] = b"".join([*lines, bytes(PADDING)])
            self.done += size
            self._number += 1
            return self._number - 1, size

    def close(self) -> None:
        """Nothing is open."""
