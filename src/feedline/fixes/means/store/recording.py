"""Keeping the elements while the job reads them for the first time.

Every iterator of the dataset made here asks, when it starts, what to do: read
what is kept, write by the way, or only hand through. A thread of its own does
the writing, from arrays that share memory with TensorFlow's tensors, so that
the job waits only when the disk cannot follow. A failure ends the recording and
nothing else. An iterator that is given up in the middle leaves nothing; after
`_MOST_ATTEMPTS` of these it is not tried again.

The three ways are three datasets in a row, two of which are empty: a list of no
files, `take(0)`. Only the one that counts is ever started.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
import weakref
from queue import Empty, Queue
from typing import TYPE_CHECKING, Any

from feedline.fixes.means.errors import Refused
from feedline.fixes.means.store.entries import Entry
from feedline.fixes.means.store.errors import CHANGED
from feedline.fixes.means.store.rows import Rows
from feedline.fixes.means.store.unlisted import Unlisted, unlisted

if TYPE_CHECKING:
    from feedline.fixes.means.store.evidence import Evidence
    from feedline.fixes.means.store.store import Store

_MOST_ATTEMPTS = 3
_WAITING_BYTES = 64 * 2**20
_CHUNK_BYTES = 2**20
_MOST_PER_CHUNK = 1024
_ALL, _NONE = -1, 0
_log = logging.getLogger(__name__)
_attempts: weakref.WeakSet[_Attempt] = weakref.WeakSet()


class Recording:
    """What the iterators of one remembered dataset share."""

    def __init__(
        self,
        store: Store,
        key: str,
        dataset: Any,
        rows: Rows,
        evidence: Evidence | None = None,
    ) -> None:
        self._store = store
        self._evidence = evidence
        self._changed = ""
        self._key = key
        self._source = dataset
        self._rows = rows
        self._cardinality = int(dataset.cardinality())
        self._lock = threading.Lock()
        self._attempt: _Attempt | None = None
        self._begun = 0
        self._elsewhere: str | None = None

    def dataset(self) -> Any:
        import tensorflow as tf

        from feedline.job.private.tensorflow import dataset_ops

        source, rows = self._source, self._rows

        def start(_: Any) -> Any:
            files, attempt, write, through = tf.numpy_function(
                self._start, [], [tf.string, tf.int64, tf.int64, tf.int64]
            )
            files.set_shape([None])
            for number in (attempt, write, through):
                number.set_shape([])
            return files, attempt, write, through

        def elements(files: Any, attempt: Any, write: Any, through: Any) -> Any:
            written = source.map(lambda *given: self._noted(attempt, given))
            written = dataset_ops._RestructuredDataset(written, source.element_spec)
            ended = tf.data.Dataset.from_tensors(attempt).filter(self._ended)
            written = written.concatenate(ended.flat_map(lambda _: source.take(0)))
            kept = rows.read(files)
            return kept.concatenate(written.take(write).prefetch(1)).concatenate(
                source.take(through)
            )

        # All Python runs in the threads of `prefetch`, never in the script's own:
        # there a Ctrl-C would be raised inside of it, and TensorFlow would make an
        # error of it.
        result = tf.data.Dataset.range(1).map(start).prefetch(1).flat_map(elements)
        result = result.with_options(source.options())
        if self._cardinality < 0:
            return result
        return result.apply(tf.data.experimental.assert_cardinality(self._cardinality))

    # ---------------------------------------------------- called from the pipeline

    def _start(self) -> Any:
        """An iterator starts: (files to read, its number, to write, to hand on)."""
        import numpy as np

        with unlisted(), self._lock:
            holds = not self.changed()
            file = self._kept() if holds else None
            write = holds and file is None and self._begin()
            number = self._begun if write else 0
        files = np.array([] if file is None else [file.encode()], object)
        through = _NONE if write or file is not None else _ALL
        return (
            files,
            np.int64(number),
            np.int64(_ALL if write else _NONE),
            np.int64(through),
        )

    def changed(self) -> str:
        """What the elements depend on and is not what it was, if anything."""
        if self._evidence is not None and not self._changed:
            self._changed = self._evidence.changed()
            if self._changed:
                with unlisted():
                    _log.warning(CHANGED, self._changed)
        return self._changed

    def _kept(self) -> str | None:
        if self._attempt is not None and self._attempt.readable():
            return str(self._attempt.entry.data)
        if self._attempt is None:  # another process, or another dataset of this one
            found = self._store.find(self._key, self._rows.spec)
            if found is not None and found[1].kind == self._rows.kind:
                self._elsewhere = str(found[0].data)
        return self._elsewhere

    def _begin(self) -> bool:
        if self._attempt is not None:
            self._attempt.give_up("another iterator was started")
            self._attempt = None
        if self._begun >= _MOST_ATTEMPTS:
            return False
        self._begun += 1
        try:
            entry = self._store.entries.create(self._key)
            self._attempt = _Attempt(self, entry, self._begun)
        except Refused as error:
            _log.warning("the elements are not kept: %s", error)
            self._begun = _MOST_ATTEMPTS
            return False
        return True

    def _noted(self, attempt: Any, given: tuple[Any, ...]) -> Any:
        """In the graph: `given` as it is, once it was noted."""
        import tensorflow as tf

        element = given if type(self._rows.spec) is tuple else given[0]
        parts = self._rows.flatten(element)
        noted = tf.numpy_function(self._note, [attempt, *parts], tf.int64)
        with tf.control_dependencies([noted]):
            same = [tf.identity(part) for part in parts]
        return self._rows.packed(same)

    def _note(self, number: Any, *parts: Any) -> Any:
        import numpy as np

        attempt = self._attempt
        if attempt is not None and attempt.number == int(number):
            attempt.add(list(parts))
        return np.int64(0)

    def _ended(self, number: Any) -> Any:
        import tensorflow as tf

        return tf.numpy_function(self._end, [number], tf.bool)

    def _end(self, number: Any) -> Any:
        import numpy as np

        attempt = self._attempt
        if attempt is not None and attempt.number == int(number):
            attempt.end()
        return np.bool_(False)

    def finish(self, attempt: _Attempt, count: int) -> None:
        self._store.complete(
            attempt.entry, self._key, self._rows, count, self._cardinality
        )


class _Attempt:
    """One iterator's writing, from its first element to its last."""

    def __init__(self, recording: Recording, entry: Entry, number: int) -> None:
        self.entry = entry
        self.number = number
        self._recording = recording
        self._queue: Queue[list[Any] | None] = Queue()
        self._waiting = 0
        self._room = threading.Condition()
        self._stop = threading.Event()
        self._ended = threading.Event()
        self._written = threading.Event()
        self._failed = False
        self._thread = Unlisted(self._run)
        _attempts.add(self)

    def add(self, parts: list[Any]) -> None:
        if not self._thread.is_alive():  # it failed, or this is a forked process
            return
        size = sum(map(_bytes, parts))
        with self._room:
            while self._waiting > _WAITING_BYTES and self._thread.is_alive():
                self._room.wait(0.5)
            self._waiting += size
        if not self._stop.is_set():
            self._queue.put(parts)

    def end(self) -> None:
        """The epoch was read to its end."""
        self._ended.set()
        self._queue.put(None)

    def readable(self) -> bool:
        """Is all of it in the file? Waits for a writer that is nearly there."""
        if not self._ended.is_set():
            return False
        while not self._written.wait(0.05) and self._thread.is_alive():
            pass
        return self._written.is_set() and not self._failed

    def give_up(self, reason: str) -> None:
        if not self._ended.is_set():
            _log.debug("the recording ends: %s", reason)
            self._stop.set()
            self._queue.put(None)
            self._thread.join()

    def settle(self) -> None:
        """The interpreter ends: finish what is complete, drop what is not."""
        self.give_up("the script has ended")
        self._thread.join()

    # -------------------------------------------------------- in the own thread

    def _run(self) -> None:
        try:
            count = self._write()
            # What was read while a file changed may be half the one and half the other.
            if count is None or self._recording.changed():
                self._drop()
                return
        except Exception as error:  # whatever it is, the job must not feel it
            _log.warning("the elements are not kept: %s", error)
            self._drop()
            return
        finally:
            self._written.set()
        try:
            self._recording.finish(self, count)
        except Exception as error:
            # The file is good for this run, whose iterators may be reading it
            # already; without a manifest, the next run clears it away.
            _log.warning("the elements are kept for this run only: %s", error)

    def _write(self) -> int | None:
        """All elements; None where the iterator was given up."""
        from feedline.fixes.means.store.store import Writer

        rows = self._recording._rows
        count, size, chunk = 0, 0, list[Any]()
        with Writer(self._recording._store.entries, self.entry) as writer:
            while (parts := self._next()) is not None:
                width = sum(map(_bytes, parts))
                chunk.append(parts)
                size += width
                count += 1
                if rows.kind == "single" or (
                    size >= _CHUNK_BYTES or len(chunk) >= _MOST_PER_CHUNK
                ):
                    writer.write(rows.records_of(chunk))
                    self._free(size)
                    chunk, size = [], 0
            if self._stop.is_set():
                return None
            if chunk:
                writer.write(rows.records_of(chunk))
        return count

    def _next(self) -> list[Any] | None:
        while not self._stop.is_set():
            try:
                return self._queue.get(timeout=1.0)
            except Empty:
                continue
        return None

    def _free(self, size: int) -> None:
        with self._room:
            self._waiting -= size
            self._room.notify_all()

    def _drop(self) -> None:
        self._failed = True
        self._stop.set()
        self._queue = Queue()
        self._free(self._waiting)
        self.entry.discard()


def _bytes(value: Any) -> int:
    if isinstance(value, bytes):
        return len(value)
    if value.dtype == object:
        return sum(len(one) for one in value.flat)
    return int(value.nbytes)


def settle_all() -> None:
    """Wait until all that was read to its end is kept, as the end of a run does."""
    started = time.monotonic()
    for attempt in list(_attempts):
        attempt.settle()
    _log.debug("recordings settled in %.1f s", time.monotonic() - started)


atexit.register(settle_all)
