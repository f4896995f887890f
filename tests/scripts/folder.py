"""What a script left in its folder, as names and digests that two runs of it share.

A few kinds of file say when they were written, or by which process. They are read
for what they hold: an archive by its members, TensorBoard's events by their values, the
list of checkpoints without its times. Everything else counts byte by byte.
"""

from __future__ import annotations

import hashlib
import re
import zipfile
from pathlib import Path

EVENTS = re.compile(r"events\.out\.tfevents\.[^/]*")
TIMES = re.compile(
    r"^(all_model_checkpoint_timestamps|last_preserved_timestamp).*\n", re.M
)
# In a .keras file: the date, and the addresses of objects.
DATE = "metadata.json"
ADDRESSES = re.compile(rb'"shared_object_id": \d+')


def files_in(folder: Path) -> dict[str, str]:
    """Name and digest of each file below the folder; folders have no digest."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.rglob("*")):
        if "__pycache__" in path.parts:
            continue
        name = EVENTS.sub("events", path.relative_to(folder).as_posix())
        found.setdefault(name, []).append(_digest(path))
    return {name: " ".join(sorted(digests)) for name, digests in found.items()}


def _digest(path: Path) -> str:
    if path.is_symlink():
        return f"link to {path.readlink()}"
    if path.is_dir():
        return "folder"
    return hashlib.sha256(_content(path)).hexdigest()[:16]


def _content(path: Path) -> bytes:
    if EVENTS.fullmatch(path.name):
        return _events(path)
    if path.suffix == ".keras":
        with zipfile.ZipFile(path) as archive:
            names = sorted(set(archive.namelist()) - {DATE})
            members = b"".join(name.encode() + archive.read(name) for name in names)
        return ADDRESSES.sub(b"", members)
    if path.name == "checkpoint":
        return TIMES.sub("", path.read_text()).encode()
    return path.read_bytes()


def _events(path: Path) -> bytes:
    """The records without the time at which each was made, which is their first field:
    a tag of one byte and eight bytes."""
    data, events, at = path.read_bytes(), b"", 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 8], "little")
        events += data[at + 12 + 9 : at + 12 + size]
        at += 12 + size + 4
    return events
