"""Are these files still what they were? By size, times, inode, and content.

A file that was written or replaced has another size, time of change or inode. Two
things these do not tell: a file that is written again before the clock of its disk
has ticked, and a disk that keeps no such times. So the content counts too: of some of
the files the beginning, the middle and the end; of a file that was written a moment
ago all of it. Looking takes about 5 µs a file.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterable, Iterator

from feedline.fixes.means.store.graphs import Unknown, digest

MOST = 10_000
"""Files that can be looked at in about 50 ms."""

_SAMPLED = 64
_BLOCK = 16 * 1024
_FRESH_NS = 2 * 10**9  # the coarsest clock of a file system
_MOST_READ = 32 * 2**20
_READ = 2**20

_Stat = tuple[int, int, int, int]


class Files:
    """Some files as they are now; `changed` says whether they still are. A name that
    is no file does not count (it may be a label) as long as it stays none."""

    def __init__(self) -> None:
        self._stats: dict[bytes, _Stat | None] = {}
        self._samples: dict[bytes, bytes] = {}
        self._whole: dict[bytes, bytes] = {}  # of those written a moment ago

    def __len__(self) -> int:
        return len(self._stats)

    def add(self, names: Iterable[bytes | str], most: int | None = MOST) -> None:
        """Look at these too. One of them at least must be a file."""
        wanted = sorted({os.fsencode(name) for name in names} - self._stats.keys())
        if most is not None and len(wanted) + len(self) > most:
            raise Unknown(f"more than {most:,} files, too many to look at every epoch")
        stats = {name: _stat(name) for name in wanted}
        there = [name for name, found in stats.items() if found is not None]
        if wanted and not there:
            raise Unknown(f"{_said(wanted[0])} cannot be looked at")
        self._whole |= _read_whole(_fresh(stats))
        step = max(1, len(there) // _SAMPLED)
        self._samples |= {name: _sample(name) for name in there[::step]}
        # What changed while it was read has other times now, and that is seen.
        self._stats |= stats

    def changed(self) -> str:
        """The first file that is not what it was, nothing where all are."""
        for name, was in self._stats.items():
            if _stat(name) != was:
                return _said(name)
        for name in self._different():
            return _said(name)
        still = _fresh({name: self._stats[name] for name in self._whole})
        self._whole = {name: self._whole[name] for name in still}
        return ""

    def _different(self) -> Iterator[bytes]:
        whole = _read_whole(list(self._whole))
        yield from (name for name, was in self._whole.items() if whole[name] != was)
        yield from (n for n, was in self._samples.items() if _sample(n) != was)

    def digest(self) -> bytes:
        """The same files in another run have the same."""
        parts: list[object] = []
        for name in sorted(self._stats):
            if self._stats[name] is not None:
                sample, whole = self._samples.get(name, b""), self._whole.get(name, b"")
                parts += [name, self._stats[name], sample, whole]
        return digest(*parts)


def below(folder: str) -> list[str]:
    """All files below a folder."""
    return sorted(
        os.path.join(base, file) for base, _, files in os.walk(folder) for file in files
    )


def _stat(name: bytes) -> _Stat | None:
    if b"://" in name:
        raise Unknown(f"{_said(name)} is not on a disk of this machine")
    try:
        found = os.stat(name)
    except (OSError, ValueError):
        return None
    if stat.S_ISDIR(found.st_mode):
        return None
    if not stat.S_ISREG(found.st_mode):
        raise Unknown(f"{_said(name)} is not a plain file")
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def _fresh(stats: dict[bytes, _Stat | None]) -> list[bytes]:
    """Those whose time of change would not tell that they change now."""
    now = time.time_ns()
    return [
        name
        for name, found in stats.items()
        if found is not None and now - max(found[1], found[2]) < _FRESH_NS
    ]


def _read_whole(names: list[bytes]) -> dict[bytes, bytes]:
    try:
        size = sum(os.stat(name).st_size for name in names)
        if size > _MOST_READ:
            raise Unknown(f"{_said(names[0])} was written less than two seconds ago")
        return {name: _hash(name) for name in names}
    except OSError as error:
        raise Unknown(str(error)) from error


def _hash(name: bytes) -> bytes:
    made = hashlib.blake2b(digest_size=20)
    with open(name, "rb", buffering=0) as file:
        while block := file.read(_READ):
            made.update(block)
    return made.digest()


def _sample(name: bytes) -> bytes:
    """Of its beginning, its middle and its end."""
    made = hashlib.blake2b(digest_size=20)
    try:
        with open(name, "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            for place in sorted({0, max(0, size // 2 - _BLOCK // 2), size - _BLOCK}):
                made.update(os.pread(file.fileno(), _BLOCK, max(0, place)))
    except OSError as error:
        raise Unknown(str(error)) from error
    return made.digest()


def _said(name: bytes) -> str:
    return os.fsdecode(name)
