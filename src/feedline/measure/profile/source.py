"""Where a capture lies: a file, or a log directory as TensorBoard keeps it.

    LOGDIR/[...]/plugins/profile/RUN/HOST.xplane.pb

Finds the newest run, opens its files (plain or gzip) and gives the `Space` in
each. Whatever is missing, damaged, foreign or too large is a CaptureError that
says so.
"""

from __future__ import annotations

import gzip
import mmap
import os
import tempfile
import zlib
from pathlib import Path
from typing import IO

import numpy as np

from feedline.errors import CaptureError
from feedline.measure.profile.parse import TooLarge, read_space
from feedline.measure.profile.space import Space
from feedline.measure.profile.wire import Bytes, Damaged

SUFFIXES = (".xplane.pb", ".xplane.pb.gz")
MAX_BYTES = 2**31 - 1
"""What a protocol buffer can be at most."""

_GZIP = b"\x1f\x8b"
_MOST_FILES = 10_000


def find(path: str | os.PathLike[str]) -> tuple[Path, ...]:
    """The captures meant by a path: the file itself, or every host's of the
    newest run under a directory."""
    place = Path(path)
    if place.is_file():
        return (place,)
    if not place.is_dir():
        raise CaptureError(f"cannot read {path}: there is no such file or directory")
    found: list[Path] = []
    for folder, _, names in os.walk(place):
        found += [Path(folder) / n for n in names if n.endswith(SUFFIXES)]
        if len(found) > _MOST_FILES:
            raise CaptureError(
                f"{path} holds more than {_MOST_FILES:,} captures; give one run's "
                "directory, or one .xplane.pb"
            )
    if not found:
        raise CaptureError(
            f"{path} holds no capture: no .xplane.pb in it. Take one with "
            "tf.profiler.experimental.start and stop, or with Keras' TensorBoard "
            "callback (profile_batch)"
        )
    # A run is one directory, named by its time; the newest file tells the newest.
    newest = max(found, key=lambda file: (file.stat().st_mtime, str(file)))
    return tuple(sorted(file for file in found if file.parent == newest.parent))


def load(path: str | os.PathLike[str]) -> Space:
    """The capture in one file."""
    try:
        with open(path, "rb") as file:
            magic = file.read(2)
            file.seek(0)
            if magic == _GZIP:
                with tempfile.TemporaryFile() as plain:
                    _unpack(file, plain, path)
                    return _read(plain, path)
            return _read(file, path)
    except OSError as error:
        raise CaptureError(f"cannot read {path}: {error.strerror or error}") from None


def _unpack(packed: IO[bytes], plain: IO[bytes], path: str | os.PathLike[str]) -> None:
    size = 0
    try:
        with gzip.GzipFile(fileobj=packed) as stream:
            while part := stream.read(1 << 20):
                size += len(part)
                if size > MAX_BYTES:
                    raise CaptureError(f"cannot read {path}: it unpacks to over 2 GB")
                plain.write(part)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        reason = str(error) or type(error).__name__
        raise CaptureError(f"cannot read {path}: its gzip is damaged: {reason}") from (
            None
        )
    plain.flush()


def _read(file: IO[bytes], path: str | os.PathLike[str]) -> Space:
    size = os.fstat(file.fileno()).st_size
    if size == 0:
        raise CaptureError(f"{path} is empty: the profiler wrote nothing into it")
    if size > MAX_BYTES:
        raise CaptureError(f"cannot read {path}: it is larger than 2 GB")
    # Mapped, not copied: the events' stats are read from it later, if at all.
    data: Bytes = np.frombuffer(
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8
    )
    try:
        space = read_space(data)
    except TooLarge as error:
        raise CaptureError(
            f"cannot read {path}: it holds {error}. Capture fewer steps"
        ) from None
    except Damaged as error:
        raise CaptureError(
            f"{path} is not an XSpace capture, or is damaged or cut short ({error}). "
            "Expected is an .xplane.pb as TensorFlow's or JAX's profiler writes it"
        ) from None
    if not space.planes:
        raise CaptureError(f"{path} holds no plane: it is not a profiler capture")
    if space.events == 0:
        raise CaptureError(
            f"{path} holds no event: nothing ran while it was taken, or the profiler "
            "could not record"
        )
    return space
