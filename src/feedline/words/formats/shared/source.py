"""A file of vectors as bytes, plain or compressed, that nobody need trust.

Memory follows what was really read: a header's promise allocates nothing. Every
failure below Python (a cut gzip, a bad checksum, a directory) comes out as a
VectorsError that names the file.
"""

from __future__ import annotations

import gzip
import io
import logging
import lzma
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from feedline.errors import VectorsError
from feedline.files.sizes import size as shown_size
from feedline.words.text.readers import ZstdReader

log = logging.getLogger(__name__)

BLOCK = 4 << 20
# No vector that people use is near these; beyond them a header lies.
MAX_DIM = 1_000_000
MAX_LINE = 16 << 20

_GZIP = b"\x1f\x8b"
_XZ = b"\xfd7zXZ\x00"
_ZSTD = b"\x28\xb5\x2f\xfd"


@dataclass
class Source:
    """An open file, what is known of its size, and how far it has been read."""

    path: Path
    stream: Any
    size: int | None
    """Bytes in all; not known of a compressed file."""
    at: int = 0
    _kept: bytes = field(default=b"", repr=False)

    def read(self, size: int) -> bytes:
        """Up to `size` bytes; fewer only at the end."""
        kept, self._kept = self._kept[:size], self._kept[size:]
        parts, missing = [kept], size - len(kept)
        while missing > 0:
            try:
                part = self.stream.read(min(missing, BLOCK))
            except (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError) as error:
                self.fail(f"it cannot be decompressed after byte {self.at:,} ({error})")
            if not part:
                break
            parts.append(part)
            missing -= len(part)
        found = b"".join(parts)
        self.at += len(found)
        return found

    def peek(self, size: int) -> bytes:
        """The next bytes, which stay to be read."""
        found = self.read(size)
        self.unread(found)
        return found

    def unread(self, data: bytes) -> None:
        """Bytes that were read too far stay to be read."""
        self.at -= len(data)
        self._kept = data + self._kept

    def line(self) -> bytes:
        """One line without its end; what is left where there is no further end."""
        seen = self.peek(4096)
        while b"\n" not in seen and len(seen) < MAX_LINE:
            more = self.peek(2 * len(seen) if seen else 4096)
            if len(more) == len(seen):
                break
            seen = more
        end = seen.find(b"\n")
        if end < 0 and len(seen) >= MAX_LINE:
            self.fail(f"its first line is longer than {shown_size(MAX_LINE)}")
        return self.read(len(seen) if end < 0 else end + 1).rstrip(b"\r\n")

    def exactly(self, size: int, what: str) -> bytes:
        """`size` bytes, or an error that says where the file ends."""
        self.holds(size, what)
        found = self.read(size)
        if len(found) < size:
            self.fail(
                f"it ends at byte {self.at:,}, within {what}: the file is cut short"
            )
        return found

    def holds(self, size: int, what: str) -> None:
        """An error where the rest of the file is too short for `size` bytes."""
        if self.size is not None and self.at + size > self.size:
            self.fail(
                f"{what} would end at byte {self.at + size:,}, but the file has "
                f"{self.size:,}: it is cut short, or its header is wrong"
            )

    def array(self, rows: int, dim: int, what: str) -> NDArray[np.float32]:
        """A matrix of little-endian float32, allocated as its bytes come."""
        self.holds(rows * dim * 4, what)
        blocks: list[NDArray[np.float32]] = []
        step = max(1, BLOCK // (4 * dim))
        for start in range(0, rows, step):
            part = self.exactly(min(step, rows - start) * dim * 4, what)
            blocks.append(np.frombuffer(part, "<f4").reshape(-1, dim))
        return joined(blocks, dim)

    def blocks(self) -> Iterator[bytes]:
        """The rest as whole lines, several megabytes at a time."""
        rest = b""
        while part := self.read(BLOCK):
            cut = part.rfind(b"\n") + 1
            if not cut:
                rest += part
                if len(rest) > MAX_LINE:
                    self.fail(
                        f"the line that ends after byte {self.at:,} is longer than "
                        f"{shown_size(MAX_LINE)}"
                    )
                continue
            yield rest + part[:cut]
            rest = part[cut:]
        if rest:
            yield rest

    def fail(self, reason: str) -> NoReturn:
        raise VectorsError(f"cannot read {self.path}: {reason}") from None


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[Source]:
    """The file, unpacked as it is read where it is gzip, xz or zstd."""
    path = Path(path)
    try:
        file = open(path, "rb")  # noqa: SIM115
    except IsADirectoryError:
        raise VectorsError(
            f"cannot read {path}: it is a directory without vectors.json, so it was "
            "not saved by feedline. Give a file, or the directory that training wrote"
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise VectorsError(f"cannot read {path}: {reason}") from None
    with file:
        start = file.read(6)
        if file.seekable():
            file.seek(0)
            size: int | None = os.fstat(file.fileno()).st_size
            stream: Any = file
        else:  # a pipe
            size, stream = None, _Rejoined(start, file)
        if start.startswith(_GZIP):
            size, stream = None, gzip.GzipFile(fileobj=stream)
        elif start == _XZ:
            size, stream = None, lzma.LZMAFile(stream)  # noqa: SIM115
        elif start.startswith(_ZSTD):
            size, stream = None, io.BufferedReader(ZstdReader(stream), 1 << 18)
        yield Source(path, stream, size)


class _Rejoined(io.RawIOBase):
    """A stream whose first bytes were looked at."""

    def __init__(self, start: bytes, rest: IO[bytes]) -> None:
        self.start, self.rest = start, rest

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if not self.start or size == 0:
            return self.rest.read(size)
        found = self.start if size < 0 else self.start[:size]
        self.start = self.start[len(found) :]
        return found


def joined(
    blocks: list[NDArray[np.float32]], dim: int, rows: int | None = None
) -> NDArray[np.float32]:
    """One matrix of the blocks, each let go as it is copied: no second copy."""
    total = sum(map(len, blocks)) if rows is None else rows
    matrix = np.empty((total, dim), np.float32)
    blocks.reverse()
    at = 0
    while blocks and at < total:
        block = blocks.pop()[: total - at]
        matrix[at : at + len(block)] = block
        at += len(block)
    return matrix


def decoded(raw: Sequence[bytes], path: Path) -> list[str]:
    """The words as text. What is not UTF-8 becomes U+FFFD, and is said."""
    try:
        # One call for a whole block; a line feed is in no word.
        words = b"\n".join(raw).decode().split("\n")
        if len(words) == len(raw):
            return words
    except UnicodeDecodeError:
        pass
    words = [word.decode("utf-8", "replace") for word in raw]
    bad = [w for w, b in zip(words, raw, strict=True) if w.encode() != b]
    if bad:
        log.warning(
            "%s: %s words are not valid UTF-8, such as %r: the bytes that are wrong "
            "were replaced by U+FFFD",
            path,
            f"{len(bad):,}",
            bad[0],
        )
    return words


def unique(
    words: list[str], matrix: NDArray[np.float32], path: Path
) -> tuple[list[str], NDArray[np.float32], NDArray[np.int64] | None]:
    """Each word once: the first row of a repeated word stays, and it is said.

    The third value are the rows that stayed, None where all did.
    """
    first = dict(zip(reversed(words), range(len(words) - 1, -1, -1), strict=True))
    if len(first) == len(words):
        return words, matrix, None
    keep = [i for i, word in enumerate(words) if first[word] == i]
    twice = next(word for i, word in enumerate(words) if first[word] != i)
    log.warning(
        "%s: %s rows repeat an earlier word, such as %r: the first of each was kept",
        path,
        f"{len(words) - len(keep):,}",
        twice,
    )
    return [words[i] for i in keep], matrix[keep], np.array(keep)


def finite(matrix: NDArray[np.float32], words: Sequence[str], path: Path) -> None:
    """An error that names the first word whose vector is not made of numbers."""
    step = max(1, BLOCK // (4 * matrix.shape[1]))
    for start in range(0, len(matrix), step):
        good = np.isfinite(matrix[start : start + step]).all(axis=1)
        if not good.all():
            row = start + int(np.argmin(good))
            raise VectorsError(
                f"cannot read {path}: the vector of word {row + 1:,}, {words[row]!r}, "
                "holds NaN or infinity: the file is damaged, is of another kind, or "
                "its training failed"
            )
