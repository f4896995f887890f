"""Refusals: the job goes on without the fix."""

from __future__ import annotations

from feedline.fixes.means.errors import Refused

CHANGED = (
    "%s has changed since the data was cached; the data is read without the cache from "
    "now on"
)


class StoreFull(Refused):
    """The elements do not fit: into the limit of the store, or onto the disk."""

    def __init__(self, needs: int, has: int, folder: object) -> None:
        super().__init__(
            f"the disk cache in {folder} needs {needs:,} bytes and has {has:,}. Free "
            "some space, or set FEEDLINE_CACHE to a folder on a larger disk."
        )
        self.needs = needs
        self.has = has
