"""A directory that is built beside its place and then put there whole.

    cache/
      tokens/              what is in use
      tokens.building-…/   what is being made; renamed to tokens when complete
      tokens.lock          held by the one process that builds

A process that is killed leaves a `building` directory; the next one that builds
removes it. Only files that this package made are ever removed.
"""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path

from filelock import FileLock

from feedline.errors import CorpusError
from feedline.files.whole import put_folder
from feedline.words.text.unwritable import unwritable

NAME = "tokens"
_OURS = (".ids", ".json", ".txt")


class Building:
    """Holds the lock and a new directory; `finish` puts it in its place."""

    def __init__(self, cache_dir: Path) -> None:
        self.place = cache_dir / NAME
        self.directory = cache_dir / f"{NAME}.building-{secrets.token_hex(4)}"
        self._lock = FileLock(cache_dir / f"{NAME}.lock")

    def __enter__(self) -> Building:
        cache_dir = self.place.parent
        try:
            cache_dir.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
            # Nobody else builds here now: what lies about was left by the killed.
            for left in cache_dir.glob(f"{NAME}.building-*"):
                shutil.rmtree(left, ignore_errors=True)
            for left in cache_dir.glob(f"{NAME}.old-*"):
                shutil.rmtree(left, ignore_errors=True)
        except OSError as error:
            self._lock.release()
            raise unwritable(cache_dir, error) from error
        return self

    def make(self) -> Path:
        """The new, empty directory."""
        if self.place.exists():
            self._refuse_strangers()
        try:
            self.directory.mkdir()
        except OSError as error:
            raise unwritable(self.directory, error) from error
        return self.directory

    def finish(self) -> None:
        """Put the directory in its place; what was there before is removed."""
        try:
            put_folder(self.directory, self.place)
        except OSError as error:
            raise unwritable(self.place, error) from error

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)
        self._lock.release()

    def _refuse_strangers(self) -> None:
        strangers = (
            [self.place]
            if not self.place.is_dir()
            else [one for one in self.place.iterdir() if one.suffix not in _OURS]
        )
        if strangers:
            raise CorpusError(
                f"{strangers[0]} was not made by feedline, and would be replaced. "
                "Move it, or choose another directory for the encoded text."
            )
