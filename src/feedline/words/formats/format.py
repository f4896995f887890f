"""What a format declares of itself, in its own file, as `FORMAT`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from feedline.words.formats.shared.source import Source

if TYPE_CHECKING:
    from feedline.words.vectors.vectors import Vectors


class ReadFile(Protocol):
    def __call__(self, source: Source, *, limit: int | None = None) -> Vectors: ...


class ReadFolder(Protocol):
    def __call__(self, path: Path, *, limit: int | None = None) -> Vectors: ...


class Check(Protocol):
    def __call__(self, path: Path, *, force: bool) -> None:
        """Raise an error, before any work, if it may not be written there."""


@dataclass(frozen=True, eq=False)
class Format:
    """One format. It is read if it has `read` or `read_folder`, written if `write`.

    How a file is recognised: by its first bytes (`magic`), else by `detect`, which
    may peek at the file; a folder by `holds`. No two formats may claim one file.
    """

    name: str
    used_by: str = ""
    """Who reads what is written: for `feedline words export --help`."""
    endings: tuple[str, ...] = ()
    """Of file names that ask for it when written."""
    magic: tuple[bytes, ...] = ()
    detect: Callable[[Source], bool] | None = None
    holds: Callable[[Path], bool] | None = None
    read: ReadFile | None = None
    read_folder: ReadFolder | None = None
    refused: str = ""
    """Why a file with this magic is not read, and what to do."""
    write: Callable[[Vectors, Path], None] | None = None
    check: Check | None = None
    folder: bool = False
    """Written as a folder, which `check` looks at."""
    packed: bool = False
    """Written compressed where the name ends with `.gz`."""
    subwords: bool = False
    """Keeps subwords when written."""

    @property
    def readable(self) -> bool:
        return self.read is not None or self.read_folder is not None
