"""Where feedline keeps what may be lost: in the user's cache folder, each kind of thing
in a folder of its own."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from feedline.errors import FeedlineError


class NoCacheFolder(FeedlineError):
    """Nobody knows where this user keeps caches."""


def cache_folder(kind: str) -> Path:
    """Below the folder that `FEEDLINE_CACHE` names, where anything else may lie too,
    else below the user's own. It need not be there yet."""
    given = os.environ.get("FEEDLINE_CACHE")
    if given:
        found = Path(os.path.expanduser(given)).absolute() / f"feedline-{kind}"
    else:
        found = platformdirs.user_cache_path("feedline", appauthor=False) / kind
    if not found.is_absolute():
        raise NoCacheFolder(
            f"there is no cache folder: {found.parent} has no place. Set "
            "FEEDLINE_CACHE to a folder of your own."
        )
    return found
