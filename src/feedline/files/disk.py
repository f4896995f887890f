"""How much room a disk has."""

from __future__ import annotations

import shutil
from pathlib import Path


def free(folder: Path) -> int:
    """Bytes that this user may still write there; 0 where that cannot be told."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return 0
