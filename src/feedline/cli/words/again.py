"""A worker that lost another starts again, from the chief's last checkpoint.

TensorFlow cannot join a cluster twice in one process, so the process is replaced by
a new one, which waits for the lost worker as it did at the beginning.
"""

from __future__ import annotations

import os
import sys
import time
from typing import NoReturn

import typer

from feedline.errors import WorkerLost

_COUNT = "FEEDLINE_STARTED_AGAIN"
_MOST = 20
_PAUSE = 2.0


def start(error: WorkerLost) -> NoReturn:
    """Run the same command with --resume in place of this process."""
    count = int(os.environ.get(_COUNT, "0")) + 1
    if count > _MOST:
        raise error
    typer.echo(f"feedline: {error} Starting again ({count} of {_MOST}).", err=True)
    arguments = [one for one in sys.argv[1:] if one not in ("--force", "--resume")]
    os.environ[_COUNT] = str(count)
    time.sleep(_PAUSE)
    os.execv(sys.executable, [sys.executable, "-m", "feedline", *arguments, "--resume"])
