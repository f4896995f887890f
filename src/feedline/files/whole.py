"""Files and folders that are there whole or not at all.

A file is written under another name in the same folder, synced, and renamed to its
own in one step. Killed at any moment, the old content is there or the new, never a
part. Errors are the system's own (`OSError`); what was half written is removed.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replacing(
    path: Path, *, part: Path | None = None, sync: bool = True
) -> Iterator[Path]:
    """A name beside `path` to write a file under, then renamed to `path`.

    `part` is that name, where what a killed process left must be found again.
    `sync` waits for the disk: not needed where a checksum would find the loss.
    """
    part = part or _beside(path)
    try:
        yield part
        if sync:
            flush(part)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def writing(path: Path, *, sync: bool = True) -> Iterator[IO[bytes]]:
    """A file to write, renamed to `path` when all is in it."""
    with (
        replacing(path, sync=sync) as part,
        open(part, "xb", buffering=1 << 20) as file,
    ):
        yield file


def write(path: Path, data: bytes | str, *, sync: bool = True) -> None:
    """Write a whole file; text is UTF-8."""
    with writing(path, sync=sync) as file:
        file.write(data.encode("utf-8") if isinstance(data, str) else data)


@contextmanager
def replacing_folder(path: Path, files: Sequence[str] = ()) -> Iterator[Path]:
    """A name beside `path` to build a folder under, then put in place of `path`. Where
    `files` are named and `path` is there, only these are replaced, in this order."""
    part = _beside(path)
    try:
        yield part
        if files and path.is_dir():
            for name in files:
                os.replace(part / name, path / name)
        else:
            put_folder(part, path)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def put_folder(new: Path, path: Path) -> None:
    """Rename a folder to `path`. What was there is removed, or put back if the
    rename fails: no system renames a folder over one that has files."""
    if not path.exists():
        new.rename(path)
        return
    old = path.with_name(f"{path.name}.old-{secrets.token_hex(4)}")
    path.rename(old)
    try:
        new.rename(path)
    except OSError:
        old.rename(path)
        raise
    shutil.rmtree(old, ignore_errors=True)


def move(path: Path, to: Path) -> None:
    """Rename to a name that is free, at one stroke: a plain rename would take the place
    of a file or of an empty folder."""
    if os.path.lexists(to):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(to))
    path.rename(to)


def flush(path: Path) -> None:
    """Wait until what was written to a file is on the disk."""
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def _beside(path: Path) -> Path:
    """Hidden, and with the same ending: some libraries write by the ending."""
    return path.with_name(f".{path.stem}.{secrets.token_hex(4)}.part{path.suffix}")
