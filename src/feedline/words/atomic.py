"""Files that are there whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path

from feedline.errors import CorpusError


def write_bytes(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Write to a file beside `path`, then rename it into place.

    `sync` waits for the disk: not needed where a checksum would find the loss.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            if sync:
                os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def unwritable(path: Path, error: OSError) -> CorpusError:
    """The error for a file that cannot be written, with its cure."""
    cure = (
        "Make room or choose a directory on another disk"
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        else "Choose a directory that can be written to"
    )
    return CorpusError(
        f"{path} cannot be written: {error.strerror or error}. {cure}; nothing "
        "half-made was left behind."
    )
