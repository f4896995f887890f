"""The file that a report is written to: may it be, and then whole or not at all.

Asked before anything is run: nobody waits a minute to learn that the directory was
misspelt. An earlier report may be replaced, any other file only with `force`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from feedline.errors import FeedlineError, OutputExists
from feedline.files import whole


def check(
    path: str | os.PathLike[str],
    *,
    ours: Callable[[Path], bool],
    what: str = "a feedline report",
    force: bool = False,
) -> Path:
    """Where it may be saved, as an absolute path; an error if it may not. `ours`
    says of an existing file whether it may be replaced."""
    target = Path(path).absolute()
    folder = target.parent
    if target.is_dir():
        raise FeedlineError(f"cannot write {path}: it is a directory")
    if not folder.is_dir():
        raise FeedlineError(f"cannot write {path}: there is no directory {folder}")
    if not os.access(target if target.exists() else folder, os.W_OK):
        raise FeedlineError(f"cannot write {path}: permission denied")
    if target.is_file() and not force and not ours(target):
        raise OutputExists(
            f"{path} exists and is not {what}; give another name, or --force to "
            "overwrite it"
        )
    return target


def write(target: Path, text: str, path: str | os.PathLike[str]) -> None:
    """Write to a temporary file, then rename. `path` is what the user calls it."""
    try:
        if target.exists() and not target.is_file():
            target.write_text(text, "utf-8")  # a pipe or a device: /dev/stdout
            return
        target = target.resolve()  # the file behind a link, not the link
        whole.write(target, text)
    except OSError as error:
        reason = error.strerror or str(error)
        raise FeedlineError(f"cannot write {path}: {reason}") from None
