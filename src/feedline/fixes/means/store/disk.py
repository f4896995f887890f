"""Where the store lies and how much room it has. A test brings its own `Disk`."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Protocol

from feedline.files.folders import NoCacheFolder, cache_folder
from feedline.fixes.means.errors import Refused


class Disk(Protocol):
    def free(self, folder: Path) -> int:
        """Bytes that this user may still write there."""


class LocalDisk:
    def free(self, folder: Path) -> int:
        return shutil.disk_usage(folder).free


def default_folder() -> Path:
    """A folder of the store's own."""
    try:
        return cache_folder("store")
    except NoCacheFolder as error:
        raise Refused(str(error)) from error


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
