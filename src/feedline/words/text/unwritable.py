"""The error for a file of encoded text that cannot be written, with its cure."""

from __future__ import annotations

import errno
from pathlib import Path

from feedline.errors import CorpusError
from feedline.files import whole


def write(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Write a whole file (files/whole.py), or raise that error."""
    try:
        whole.write(path, data, sync=sync)
    except OSError as error:
        raise unwritable(path, error) from error


def unwritable(path: Path, error: OSError) -> CorpusError:
    """What failed, why, and what to do."""
    cure = (
        "Free some space, or choose a directory on another disk"
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        else "Choose a directory that can be written to"
    )
    return CorpusError(
        f"cannot write {path}: {error.strerror or error}. {cure}; no partial file was "
        "left behind."
    )
