"""`Store`: datasets kept on disk under a key that says what their elements are."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from feedline.fixes.means.errors import Refused
from feedline.fixes.means.store.disk import Disk, default_folder
from feedline.fixes.means.store.entries import Entries, Entry, checksums
from feedline.fixes.means.store.manifest import Manifest

if TYPE_CHECKING:
    from feedline.fixes.means.store.evidence import Evidence
    from feedline.fixes.means.store.rows import Rows

Dataset = Any
_ROOM_AT_A_TIME = 64 * 2**20
_log = logging.getLogger(__name__)


class Store:
    """A folder of kept datasets, `limit_bytes` together at the most; half of what
    is free unless told. Several processes may use it at the same time."""

    def __init__(
        self,
        folder: Path | None = None,
        limit_bytes: int | None = None,
        *,
        disk: Disk | None = None,
    ) -> None:
        self.folder = Path(folder) if folder is not None else default_folder()
        self.entries = Entries(self.folder, limit_bytes, disk)

    def open(self, key: str, element_spec: Any = None) -> Dataset | None:
        """The dataset kept under `key`, checked from end to end, else None.

        With the `element_spec` of the pipeline that it stands for, an entry with
        other elements is not taken, and named tuples are of the user's own class.
        The entry is not removed by anybody while this process lives.
        """
        found = self.find(key, element_spec)
        if found is None:
            return None
        entry, rows, cardinality = found
        return rows.read([str(entry.data)], cardinality)

    def find(self, key: str, element_spec: Any) -> tuple[Entry, Rows, int] | None:
        """What `open` opens: the entry, how to read it, its cardinality."""
        for entry, manifest in self.entries.of(_checked(key)):
            rows = self._rows(manifest, element_spec)
            if rows is None:
                entry.lock.close()
            elif self.entries.is_whole(entry, manifest):
                entry.touch()
                return entry, rows, manifest.cardinality
        return None

    def remember(
        self, key: str, dataset: Dataset, evidence: Evidence | None = None
    ) -> Dataset:
        """`dataset`, kept by the way while it is first read to its end; later
        iterators, and later runs, read what was kept, as long as the `evidence`
        holds. Whatever goes wrong with keeping it, the elements flow on."""
        import tensorflow as tf

        from feedline.fixes.means.store.guard import Guarded
        from feedline.fixes.means.store.recording import Recording
        from feedline.fixes.means.store.rows import Rows

        kept = self.open(key, dataset.element_spec)
        if kept is not None:
            return Guarded(dataset, evidence, kept) if evidence else kept
        if int(dataset.cardinality()) == -1:
            raise Refused("an endless dataset cannot be kept")
        self.entries.check()
        try:
            rows = Rows.fitting(dataset)
        except tf.errors.OpError as error:  # the job's to meet, not ours to raise
            raise Refused(f"its first element cannot be read: {error}") from error
        return Recording(self, key, dataset, rows, evidence).dataset()

    # ----------------------------------------------------------------- the parts

    def complete(
        self, entry: Entry, key: str, rows: Rows, count: int, cardinality: int
    ) -> None:
        """Everything is written: from now on it counts."""
        import tensorflow as tf

        from feedline.fixes.means.store.rows import encode_spec

        if cardinality >= 0 and count != cardinality:
            raise Refused(
                f"the dataset says it has {cardinality:,} elements and gave {count:,}"
            )
        try:
            manifest = Manifest(
                key=key,
                tensorflow=tf.__version__,
                rows=rows.kind,
                count=count,
                cardinality=cardinality,
                components=rows.components,
                spec=encode_spec(rows.spec),
                bytes=entry.data.stat().st_size,
                checksums=checksums(entry.data),
            )
            self.entries.complete(entry, manifest)
        except OSError as error:
            raise self.entries.refusal(error, 0) from error

    def _rows(self, manifest: Manifest, element_spec: Any) -> Rows | None:
        """How to read an entry; None where it is another pipeline's."""
        import tensorflow as tf

        from feedline.fixes.means.store.rows import Rows, decode_spec, encode_spec

        if manifest.tensorflow != tf.__version__:
            return None
        try:
            known = decode_spec(manifest.spec)
            spec = known if element_spec is None else element_spec
            rows = Rows.of(spec, manifest.rows) if spec is not None else None
        except Refused as error:
            _log.debug("not used: %s", error)
            return None
        if rows is None or rows.components != manifest.components:
            return None
        same = element_spec is None or encode_spec(element_spec) == manifest.spec
        return rows if same else None


class Writer:
    """The data file of an entry, kept within the room there is."""

    def __init__(self, entries: Entries, entry: Entry) -> None:
        import tensorflow as tf

        self.written = 0
        self._entries = entries
        self._entry = entry
        self._reserved = 0
        self._failures = (OSError, tf.errors.OpError)
        try:
            self._file = tf.io.TFRecordWriter(str(entry.data))
        except self._failures as error:
            raise entries.refusal(error, 0) from error

    def write(self, records: list[bytes]) -> None:
        size = sum(len(record) + 16 for record in records)
        if self.written + size > self._reserved:
            # What is still in the buffer counts as well: ask for some more.
            more = max(size, _ROOM_AT_A_TIME)
            room = min(more, max(self._entries.room(), size))
            self._entries.make_room(room, total=self.written + size)
            self._reserved = self.written + room
        try:
            for record in records:
                self._file.write(record)
        except self._failures as error:
            raise self._entries.refusal(error, self.written) from error
        self.written += size

    def close(self) -> None:
        """Everything is in the file, to the byte, or this raises."""
        try:
            self._file.close()
            size = self._entry.data.stat().st_size
        except self._failures as error:
            raise self._entries.refusal(error, self.written) from error
        if size != self.written:
            raise Refused(f"{self.written:,} bytes were written, {size:,} are there")

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None:
            self.close()
            return
        try:
            self._file.close()
        except self._failures:
            _log.debug("closing a file that is given up", exc_info=True)


def _checked(key: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{8,128}", key):
        raise Refused(f"the key of a kept dataset is a hex fingerprint, not {key!r}")
    return key
