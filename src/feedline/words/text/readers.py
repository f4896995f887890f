"""From what the user names to files, and from a file to a stream of bytes.

A source is a file, a glob, a directory (every file below it, hidden ones left
out, those that are not text left out with a warning) or "-" for standard input.
Compression is told by the first bytes, not by the name: gzip, xz, zstd, bzip2.
"""

from __future__ import annotations

import bz2
import errno
import glob
import gzip
import io
import logging
import lzma
import os
import stat
import sys
import zlib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from feedline.errors import CorpusError
from feedline.words.text.shards import MANIFEST, VOCABULARY

STDIN = "-"

_log = logging.getLogger(__name__)

_XZ = b"\xfd7zXZ\x00"
_ZSTD = b"\x28\xb5\x2f\xfd"
# The magic numbers 0x184D2A50 to 5F, little-endian: zstd frames to be skipped.
_ZSTD_SKIP = b"\x2a\x4d\x18"
# What reading a damaged or cut-off file of these kinds raises.
_DAMAGED = (EOFError, zlib.error, lzma.LZMAError)

_SAMPLE = 8000


@dataclass(frozen=True)
class TextFile:
    """A file to read, and what it was like when the corpus was named."""

    path: str
    size: int | None
    """None where it is no regular file: it can be read once only."""
    mtime_ns: int

    @property
    def regular(self) -> bool:
        return self.size is not None


def find_files(sources: Iterable[Any]) -> tuple[TextFile, ...]:
    """All files that the sources name, in order; those of a directory by name."""
    found: list[TextFile] = []
    for source in sources:
        found += _expanded(source)
    if not found:
        raise CorpusError("no corpus was given. Name a file, a glob or a directory.")
    return tuple(found)


def _expanded(source: Any) -> list[TextFile]:
    if not isinstance(source, str | Path):
        raise CorpusError(
            f"{source!r} is a {type(source).__name__}, not a file name. Give names, or "
            "lists of words, not both."
        )
    name = os.fspath(source)
    if name == STDIN:
        return [TextFile(STDIN, None, 0)]
    name = os.path.expanduser(name)
    if os.path.isdir(name):
        return _in_directory(name)
    if not os.path.lexists(name) and isinstance(source, str) and glob.has_magic(name):
        matches = sorted(glob.glob(name, recursive=True))
        if not matches:
            raise CorpusError(
                f"no file matches {name!r} in {os.getcwd()}. Check the pattern; `**` "
                "goes down into directories."
            )
        files = [path for path in matches if not os.path.isdir(path)]
        if not files:
            return [file for path in matches for file in _in_directory(path)]
        return [_described(path) for path in files]
    return [_described(name)]


def _in_directory(name: str) -> list[TextFile]:
    texts: list[TextFile] = []
    others = 0
    for folder, below, files in os.walk(name):
        below[:] = sorted(one for one in below if not one.startswith("."))
        if {MANIFEST, VOCABULARY} <= set(files):  # encoded text of an earlier run
            continue
        for file in sorted(files):
            path = os.path.join(folder, file)
            if file.startswith(".") or not os.path.isfile(path):
                continue
            described = _described(path)
            try:
                with open_text(described):
                    texts.append(described)
            except CorpusError as error:
                others += 1
                _log.warning("left out: %s", error)
    if not texts:
        what = f"{others} files, none of them text" if others else "no files"
        raise CorpusError(
            f"the directory {name} has {what} in it. Name a directory with text "
            "files: plain, gzip, xz, zstd or bzip2."
        )
    return texts


def _described(path: str) -> TextFile:
    try:
        found = os.stat(path)
    except OSError as error:
        raise _unreadable(path, error) from error
    except ValueError as error:  # a NUL in the name
        raise CorpusError(f"{path!r} is not a file name: {error}.") from error
    if stat.S_ISREG(found.st_mode):
        return TextFile(path, found.st_size, found.st_mtime_ns)
    return TextFile(path, None, 0)


class TextStream:
    """The bytes of one file, decompressed, without a byte order mark."""

    def __init__(self, file: TextFile, raw: IO[bytes], text: io.BufferedIOBase) -> None:
        self.file = file
        self._raw = raw
        self._text = text
        self._start = b""

    def readinto(self, target: memoryview) -> int:
        """Fill `target` as far as the file goes; 0 only at its end."""
        filled = 0
        if self._start:
            filled = min(len(self._start), len(target))
            target[:filled] = self._start[:filled]
            self._start = self._start[filled:]
        try:
            while filled < len(target):
                # Python releases the interpreter lock in here for as long as it
                # reads or decompresses, so other threads scan meanwhile.
                got = self._text.readinto(target[filled:])
                if not got:
                    break
                filled += got
        except (*_DAMAGED, OSError) as error:
            # bz2 and gzip say OSError too, but without a number of the system's.
            if isinstance(error, OSError) and error.errno is not None:
                raise _unreadable(self.file.path, error) from error
            raise CorpusError(
                f"{self.file.path} is damaged or cut off: {error}. Fetch or compress "
                "it again."
            ) from error
        return filled

    def position(self) -> int:
        """How many bytes of the file itself were read."""
        with suppress(OSError, ValueError):
            return self._raw.tell()
        return 0

    def check(self) -> None:
        """Refuse what is not text, judged by its beginning."""
        sample = bytearray(_SAMPLE)
        sample = sample[: self.readinto(memoryview(sample))]
        self._start = bytes(sample.removeprefix(b"\xef\xbb\xbf"))
        if sample.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise CorpusError(
                f"{self.file.path} is UTF-16. Convert it to UTF-8 first: iconv -f "
                "UTF-16 -t UTF-8."
            )
        if b"\0" in sample:
            raise CorpusError(
                f"{self.file.path} is a binary file: there is a zero byte in its "
                f"first {len(sample)} bytes. Give text in UTF-8, plain or compressed."
            )
        strange = self._start.decode("utf-8", "replace").count("\ufffd")
        if len(sample) >= 64 and strange > 0.3 * len(sample):
            raise CorpusError(
                f"{self.file.path} is not UTF-8: {strange} of its first {len(sample)} "
                "bytes are invalid. Convert it first: iconv -f ENCODING -t UTF-8."
            )

    def close(self) -> None:
        if self.file.path == STDIN:  # not ours to close
            return
        with suppress(OSError):
            self._text.close()
        self._raw.close()

    def __enter__(self) -> TextStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_text(file: TextFile) -> TextStream:
    """Open a file, whatever its compression, and check that it is text."""
    raw: IO[bytes]
    if file.path == STDIN:
        raw = sys.stdin.buffer
    else:
        try:
            raw = open(file.path, "rb", buffering=1 << 18)  # noqa: SIM115
        except OSError as error:
            raise _unreadable(file.path, error) from error
    stream: TextStream | None = None
    try:
        stream = TextStream(file, raw, _decompressed(raw))
        stream.check()
    except BaseException as error:
        if stream is not None:
            stream.close()
        elif file.path != STDIN:
            raw.close()
        if isinstance(error, OSError):
            raise _unreadable(file.path, error) from error
        raise
    return stream


def _decompressed(raw: IO[bytes]) -> io.BufferedIOBase:
    peek = getattr(raw, "peek", None)
    if peek is None:  # standard input replaced by a plain stream, as tests do
        raw = cast("IO[bytes]", io.BufferedReader(cast("Any", raw)))
        peek = cast("Any", raw).peek
    magic = peek(6)[:6]
    if magic.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=raw)
    if magic == _XZ:
        return lzma.LZMAFile(raw)
    if magic.startswith(b"BZh"):
        return bz2.BZ2File(raw)
    if magic.startswith(_ZSTD) or magic[1:4] == _ZSTD_SKIP:
        return io.BufferedReader(ZstdReader(raw), 1 << 18)
    return cast("io.BufferedIOBase", raw)


class ZstdReader(io.RawIOBase):
    """Zstandard frames, one after the other, with an error where one is cut off.

    The library's own reader takes the end of the file for the end of the text.
    """

    # A few bytes of zstd can stand for 128 KB, so little is taken at a time: what
    # one piece becomes stays below 64 MB even where someone meant it to burst.
    _PIECE = 2048

    def __init__(self, raw: IO[bytes]) -> None:
        import zstandard

        self._raw = raw
        # `zstd --long=31` needs windows of this size.
        self._codec = zstandard.ZstdDecompressor(max_window_size=1 << 31)
        self._error = zstandard.ZstdError
        self._frame: Any = None
        self._input = b""
        self._output = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        while not self._output:
            if not self._next_piece():
                return 0
        taken = min(len(target), len(self._output))
        target[:taken] = self._output[:taken]
        self._output = self._output[taken:]
        return taken

    def _next_piece(self) -> bool:
        piece = self._input or self._raw.read(self._PIECE)
        self._input = b""
        if not piece:
            if self._frame is not None:
                raise EOFError("the zstd data ends within a frame")
            return False
        if self._frame is None:
            self._frame = self._codec.decompressobj()
        try:
            self._output = memoryview(self._frame.decompress(piece))
        except self._error as error:
            raise EOFError(str(error)) from error
        if self._frame.eof:
            self._input = self._frame.unused_data
            self._frame = None
        return True


def _unreadable(path: str, error: OSError) -> CorpusError:
    if error.errno == errno.ENOENT:
        return CorpusError(
            f"there is no file {path!r}. Check the name; words that are split "
            'already are given as lists: [["the", "cat"], ["a", "dog"]].'
        )
    return CorpusError(
        f"{path} cannot be read: {error.strerror or error}. Check the file and its "
        "permissions."
    )
