"""Where the store lies and how much room it has. A test brings its own `Disk`."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Protocol


class Disk(Protocol):
    def free(self, folder: Path) -> int:
        """Bytes that this user may still write there."""


class LocalDisk:
    def free(self, folder: Path) -> int:
        return shutil.disk_usage(folder).free


def default_folder() -> Path:
    """`FEEDLINE_CACHE`, else the user's cache folder."""
    given = os.environ.get("FEEDLINE_CACHE")
    if given:
        return Path(given).expanduser()
    caches = os.environ.get("XDG_CACHE_HOME")
    base = Path(caches) if caches else Path.home() / ".cache"
    return base / "feedline"


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
