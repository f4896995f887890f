"""Where the store lies and how much room it has. A test brings its own `Disk`."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Protocol

from feedline.fixes.means.errors import Refused


class Disk(Protocol):
    def free(self, folder: Path) -> int:
        """Bytes that this user may still write there."""


class LocalDisk:
    def free(self, folder: Path) -> int:
        return shutil.disk_usage(folder).free


def default_folder() -> Path:
    """A folder of the store's own: in the one that `FEEDLINE_CACHE` names, where
    anything else may lie too, else in the user's cache folder."""
    given = os.environ.get("FEEDLINE_CACHE")
    caches = os.environ.get("XDG_CACHE_HOME")
    try:
        if given:
            return Path(given).expanduser().absolute() / "feedline-store"
        base = Path(caches) if caches else Path.home() / ".cache"
    except RuntimeError as error:  # nobody knows where this user is at home
        raise Refused(
            f"there is no folder for the disk cache: {error} Set FEEDLINE_CACHE to one."
        ) from error
    return base / "feedline" / "store"


def size_of(folder: Path) -> int:
    """Bytes of the files in it; what vanishes meanwhile does not count."""
    total = 0
    try:
        with os.scandir(folder) as files:
            for file in files:
                total += file.stat(follow_symlinks=False).st_size
    except OSError:
        pass
    return total
