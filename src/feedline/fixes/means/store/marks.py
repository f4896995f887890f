"""What in the store is ours: known by a mark that we wrote, never by a name.

The folder of the store has a marker file, and so has every entry in it; each says
which folder it was written for. Nothing is removed unless both are there, the entry
is a folder of this user's and no symbolic link, and it holds nothing but the files
that an entry has. A folder that was there before us is never made into a store,
unless it is empty.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path

from feedline.files import whole
from feedline.fixes.means.errors import Refused

ROOT = ".feedline-store"
ENTRY = ".feedline-entry"
LOCK = ".lock"
_GONE = ".gone-"
_ROOT_TEXT = (
    "feedline store 1\n"
    "feedline keeps datasets here and removes the oldest when it needs room.\n"
)
# The marker goes last: until then, what is left of an entry is still ours.
_FILES = ("manifest.json", "manifest.tmp", "data", "used", "lock", ENTRY)


def is_store(folder: Path) -> bool:
    return _says(folder / ROOT, _ROOT_TEXT)


def check_store(folder: Path) -> None:
    """Raises `Refused` where this folder is not, and cannot become, our store.
    Changes nothing."""
    place = folder
    while not os.path.lexists(place) and place != place.parent:
        place = place.parent
    if not place.is_dir():
        raise Refused(
            f"the disk cache cannot be in {folder}: {place} is no folder. Set "
            "FEEDLINE_CACHE to another folder."
        )
    if not os.access(place, os.W_OK | os.X_OK):
        raise Refused(
            f"the disk cache cannot be in {folder}: {place} cannot be written. Set "
            "FEEDLINE_CACHE to a folder of your own."
        )
    if place == folder:
        _check_owned(folder)
        if not is_store(folder) and _foreign_in(folder):
            raise _foreign(folder)


def make_store(folder: Path) -> None:
    """Make the folder with its marker, or see that it is there. OSError is for the
    caller, who knows how to say it."""
    check_store(folder)
    if is_store(folder):
        return
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _check_owned(folder)
    # Put in place whole: another process never sees half of it.
    scratch = folder / f"{ROOT}.{secrets.token_hex(4)}"
    with whole.replacing(folder / ROOT, part=scratch, sync=False):
        scratch.write_text(_ROOT_TEXT)
        if not is_store(folder) and _foreign_in(folder):
            raise _foreign(folder)


def make_entry(store: Path, name: str) -> Path:
    """A new folder with its marker."""
    folder = store / name
    folder.mkdir(mode=0o700)
    try:
        (folder / ENTRY).write_text(_entry_text(name))
    except OSError:  # without a mark nobody would ever remove it
        _empty(folder)
        raise
    return folder


def entries(store: Path) -> list[Path]:
    """The folders in the store that are ours, and only these."""
    if not is_store(store):
        return []
    found = [store / name for name in _names(store) if name[0] != "."]
    return [one for one in found if is_entry(one, one.name)]


def is_entry(folder: Path, name: str) -> bool:
    """Did we make this folder, under this name, and is nothing else in it?"""
    try:
        about = folder.lstat()
        inside = [*os.scandir(folder)] if stat.S_ISDIR(about.st_mode) else None
    except OSError:
        return False
    return (
        inside is not None
        and about.st_uid == _me()
        and all(
            one.name in _FILES and one.is_file(follow_symlinks=False) for one in inside
        )
        and _says(folder / ENTRY, _entry_text(name))
    )


def remove(folder: Path) -> bool:
    """Take an entry away: at one stroke, so that nobody meets half of one."""
    store = folder.parent
    if not is_store(store) or not is_entry(folder, folder.name):
        return False
    gone = store / f"{_GONE}{secrets.token_hex(4)}-{folder.name}"
    try:
        whole.move(folder, gone)
    except OSError:
        return False
    _empty(gone)
    return True


def remove_halves(store: Path) -> None:
    """What a killed process had begun to remove."""
    for name in _names(store) if is_store(store) else ():
        was = name[len(_GONE) + 9 :]
        if name.startswith(_GONE) and was and is_entry(store / name, was):
            _empty(store / name)


def _empty(folder: Path) -> None:
    """File by file: what we did not write stays, and so does its folder."""
    with contextlib.suppress(OSError):
        for name in _FILES:
            (folder / name).unlink(missing_ok=True)
        folder.rmdir()


def _entry_text(name: str) -> str:
    return f"feedline entry 1\n{name}\n"


def _says(marker: Path, text: str) -> bool:
    try:
        if not stat.S_ISREG(marker.lstat().st_mode):
            return False
        with marker.open("rb") as file:
            return file.read(len(text) + 1) == text.encode()
    except OSError:
        return False


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _foreign_in(folder: Path) -> bool:
    """Is anything in it but a marker that is just being written?"""
    return any(not name.startswith(f"{ROOT}.") for name in _names(folder))


def _check_owned(folder: Path) -> None:
    if folder.stat().st_uid != _me():
        raise Refused(
            f"the disk cache cannot be in {folder}, which belongs to another user. Set "
            "FEEDLINE_CACHE to a folder of your own."
        )


def _me() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def _foreign(folder: Path) -> Refused:
    return Refused(
        f"the disk cache cannot be in {folder}: it has files in it and feedline did "
        f"not make it (it has no {ROOT}). Move it away, or set FEEDLINE_CACHE to "
        "another folder."
    )
