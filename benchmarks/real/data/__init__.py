"""The data of the gallery: made here, seeded, of the kind the script downloads.

`MAKERS` gives for each name a function that fills a folder. Nothing is downloaded.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from real.data import arrays, pictures, sounds, tables, text

MAKERS: dict[str, Callable[[Path], None]] = {
    **arrays.MAKERS,
    **pictures.MAKERS,
    **sounds.MAKERS,
    **tables.MAKERS,
    **text.MAKERS,
}


def made(name: str, folder: Path) -> Path:
    """The folder with the data of that name; made where it is not there yet."""
    place = folder / name
    if place.exists():
        return place
    part = folder / f"{name}.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    MAKERS[name](part)
    os.replace(part, place)
    return place
