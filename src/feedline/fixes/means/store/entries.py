"""The folders of the store: made, completed, checked, removed.

An entry exists from the moment its manifest does, which is written last and by
renaming. Until then it is somebody's work in progress, locked by him; when the
lock is free and there is no manifest, he is gone and it is a leftover.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import secrets
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from feedline.files import whole
from feedline.files.cores import cores
from feedline.fixes.means.errors import Refused
from feedline.fixes.means.store import marks
from feedline.fixes.means.store.disk import Disk, LocalDisk, size_of
from feedline.fixes.means.store.errors import StoreFull
from feedline.fixes.means.store.locks import Lock, lock, try_lock
from feedline.fixes.means.store.manifest import Manifest

_SEGMENT = 64 * 2**20
_READ = 4 * 2**20
_SPARE = 64 * 2**20  # never the last bytes of a disk
_log = logging.getLogger(__name__)


@dataclass
class Entry:
    """A folder of the store that this process has locked."""

    folder: Path
    lock: Lock = field(repr=False)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def touch(self) -> None:
        with contextlib.suppress(OSError):
            (self.folder / "used").touch()

    def discard(self) -> None:
        """Take away what was begun."""
        marks.remove(self.folder)
        self.lock.close()


class Entries:
    def __init__(self, folder: Path, limit: int | None, disk: Disk | None) -> None:
        self.folder = folder
        self._limit = limit
        self._disk = disk or LocalDisk()

    # ------------------------------------------------------------------ finding

    def of(self, key: str) -> Iterator[tuple[Entry, Manifest]]:
        """The complete entries of that key, checked as far as sizes go. What is
        damaged is removed."""
        for folder in sorted(marks.entries(self.folder), reverse=True):
            if folder.name.rpartition("-")[0] != key:
                continue
            held = self._shared(folder)
            if held is None:
                continue
            entry = Entry(folder, held)
            manifest = self._manifest(entry) if held.is_current else None
            if manifest is None or manifest.key != key:
                held.close()
                continue
            yield entry, manifest

    def _shared(self, folder: Path) -> Lock | None:
        try:
            return try_lock(folder / "lock", shared=True)
        except (OSError, Refused) as error:  # on a disk that was made read-only
            _log.debug("cannot lock %s: %s", folder, error)
            return None

    def _manifest(self, entry: Entry) -> Manifest | None:
        try:
            text = (entry.folder / "manifest.json").read_text()
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            self._damaged(entry, error)
            return None
        try:
            manifest = Manifest.from_json(text)
            if entry.data.stat().st_size != manifest.bytes:
                raise ValueError("the data is not as long as it was")
        except (ValueError, TypeError, OSError) as error:
            self._damaged(entry, error)
            return None
        return manifest

    def is_whole(self, entry: Entry, manifest: Manifest) -> bool:
        """Are the contents what they were? Removes the entry where not."""
        try:
            if checksums(entry.data) == manifest.checksums:
                return True
        except OSError as error:
            _log.debug("cannot read %s: %s", entry.data, error)
        self._damaged(entry, "the data is not what it was")
        return False

    def _damaged(self, entry: Entry, reason: object) -> None:
        _log.warning("removing the damaged cache %s: %s", entry.folder, reason)
        entry.lock.close()
        try:
            with self._alone():
                self._remove_unused(entry.folder)
        except (OSError, Refused) as error:
            _log.debug("cannot remove %s: %s", entry.folder, error)

    # ------------------------------------------------------------------- making

    def check(self) -> None:
        """Raises `Refused` where nothing could be kept here. Makes nothing."""
        try:
            marks.check_store(self.folder)
        except OSError as error:
            raise self.refusal(error, 0) from error

    def create(self, key: str) -> Entry:
        """A new folder to write into, locked. Clears what killed runs left."""
        try:
            marks.make_store(self.folder)
            with self._alone():
                self._clean()
                name = f"{key}-{secrets.token_hex(4)}"
                folder = marks.make_entry(self.folder, name)
                held = try_lock(folder / "lock", create=True)
        except OSError as error:
            raise self.refusal(error, 0) from error
        if held is None:
            raise Refused(f"the new folder {folder} is locked by somebody else")
        return Entry(folder, held)

    def complete(self, entry: Entry, manifest: Manifest) -> None:
        """The data is written: make it an entry that survives a power cut. It
        stays locked, as one that is read from now on."""
        sync(entry.data)
        entry.touch()
        place, scratch = entry.folder / "manifest.json", entry.folder / "manifest.tmp"
        with self._alone():
            with whole.replacing(place, part=scratch):
                scratch.write_text(manifest.to_json())
            sync(entry.folder)
            sync(self.folder)
            entry.lock.share()

    def make_room(self, needed: int, *, total: int | None = None) -> None:
        """Let `needed` more bytes fit, at the cost of what was not used for the
        longest time and that nobody reads. `total` is what to say is needed."""
        if self.room() >= needed:
            return
        with self._alone():
            self._clean()
            for folder in sorted(marks.entries(self.folder), key=_last_used):
                if self.room() >= needed:
                    return
                if self._remove_unused(folder):
                    _log.info("removed %s to make room", folder)
        if (has := self.room()) < needed:
            raise StoreFull(needed if total is None else total, has, self.folder)

    def room(self) -> int:
        """Bytes that may still be written."""
        used = sum(map(size_of, marks.entries(self.folder)))
        free = max(self._disk.free(self.folder) - _SPARE, 0)
        limit = (free + used) // 2 if self._limit is None else self._limit
        return max(min(limit - used, free), 0)

    def refusal(self, error: Exception, written: int) -> Refused:
        """What a failed write comes to."""
        full = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
        words = str(error).lower()
        if getattr(error, "errno", None) in full or any(
            os.strerror(one).lower() in words for one in full
        ):
            return StoreFull(written + 1, written, self.folder)
        return Refused(f"the disk cache in {self.folder} cannot be written: {error}")

    # ----------------------------------------------------------------- removing

    def _alone(self) -> Lock:
        return lock(self.folder / marks.LOCK)

    def _clean(self) -> None:
        """Leftovers of runs that are gone."""
        marks.remove_halves(self.folder)
        for folder in marks.entries(self.folder):
            if not (folder / "manifest.json").exists():
                self._remove_unused(folder)

    def _remove_unused(self, folder: Path) -> bool:
        """Only while nobody else may lock it, which `_alone` sees to."""
        if not (folder / "lock").exists():
            return marks.remove(folder)
        held = try_lock(folder / "lock")
        if held is None:
            return False
        with held:
            return marks.remove(folder)


def _last_used(folder: Path) -> float:
    try:
        return (folder / "used").stat().st_mtime
    except OSError:
        return 0.0


def checksums(path: Path) -> tuple[int, ...]:
    """CRC-32 of each segment of a file, on several cores: zlib lets go of the
    interpreter. Not memory-mapped: a file that is cut short must raise."""
    segments = range(0, max(path.stat().st_size, 1), _SEGMENT)
    with path.open("rb", buffering=0) as file:

        def checksum(start: int) -> int:
            value = 0
            for place in range(start, start + _SEGMENT, _READ):
                block = os.pread(file.fileno(), _READ, place)
                value = zlib.crc32(block, value)
                if len(block) < _READ:
                    break
            return value

        with ThreadPoolExecutor(min(4, cores())) as threads:
            return tuple(threads.map(checksum, segments))


def sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
