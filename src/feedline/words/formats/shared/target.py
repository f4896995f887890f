"""Files that are there whole or not at all, and never replaced unasked."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from feedline.errors import OutputExists, VectorsError
from feedline.files import whole


def check(path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Where a file may be written, as an absolute path; an error if it may not."""
    target = Path(path).absolute()
    if target.is_dir():
        raise VectorsError(f"cannot write {path}: it is a directory. Give a file name")
    check_folder(target)
    if target.exists() and not force:
        raise OutputExists(
            f"{path} exists; give another name, or --force (force=True) to overwrite it"
        )
    return target


def check_folder(target: Path) -> None:
    if not target.parent.is_dir():
        raise VectorsError(
            f"cannot write {target}: there is no directory {target.parent}. Make it "
            "first, or give another"
        )


@contextmanager
def written(path: Path) -> Iterator[IO[bytes]]:
    """A file to write, renamed to `path` when all is in it."""
    with replaced(path) as part, open(part, "xb", buffering=1 << 20) as file:
        yield file


@contextmanager
def packed(path: Path) -> Iterator[IO[bytes]]:
    """The same, gzipped where the name ends with `.gz`."""
    with written(path) as file:
        if path.suffix != ".gz":
            yield file
            return
        # No name and no time inside: the same vectors make the same file.
        with gzip.GzipFile("", "wb", 6, file, mtime=0) as squeezed:
            yield cast("IO[bytes]", squeezed)


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A name beside `path` to write under, then renamed to it."""
    try:
        with whole.replacing(path) as part:
            yield part
    except UnicodeEncodeError as error:
        raise VectorsError(
            f"cannot write {path}: a word has a character that UTF-8 cannot encode "
            f"({error.object[error.start : error.end]!r}). Rename the word first"
        ) from None
    except OSError as error:
        raise VectorsError(f"cannot write {path}: {error.strerror or error}") from None
