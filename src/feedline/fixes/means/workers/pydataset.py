"""Keras' `PyDataset` with its batches made in processes.

`fit` asks for one batch after the other, in an order that it draws anew in every
epoch. Here that order is foreseen, from the state of Python's random numbers when
`fit` starts to draw it, and the next batches are made before they are asked for.
A wrong guess costs time and nothing else: what is asked for is what is given.

The processes are forked when an epoch starts, and again after `on_epoch_begin`
and `on_epoch_end`, so that they see what these have changed.
"""

from __future__ import annotations

import logging
import random
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

from feedline.files.cores import cores
from feedline.fixes.means.errors import Refused
from feedline.fixes.means.workers.pool import LINES, PATIENCE_S, Pool
from feedline.job.source.purity import Purity, purity
from feedline.job.source.uses import bound_to_here, tensorflow_in
from feedline.job.tfdata.generators import adapter_of, generator_of
from feedline.job.tfdata.pipeline import Stage
from feedline.process import threads

_PEEKED = 2  # Keras looks at so many batches to learn their types
_NOT_MADE = object()
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class BatchesAhead:
    """`adapter` is Keras' own, over the processes; `stage()` reads through it."""

    adapter: Any
    purity: Purity
    old: Stage

    def stage(self) -> Stage:
        found = self.old.handle
        args = {
            "func": generator_of(found).__func__.__get__(self.adapter),
            "output_signature": found.dataset.element_spec,
        }
        return replace(self.old, args=args, handle=None)


def batches_ahead(stage: Stage, workers: int) -> BatchesAhead:
    """The stage that Keras made of a `PyDataset`, its batches made in processes.
    Keras goes on to draw their order, and to tell the script's own object where an
    epoch begins and ends. Raises Refused where that cannot be the same."""
    adapter = adapter_of(stage.handle)
    if adapter.enqueuer is not None:
        raise Refused("Keras reads the PyDataset with its own workers already")
    parallel = parallel_pydataset(adapter.py_dataset, workers)
    copy = type(adapter)(parallel, adapter.class_weight, adapter.shuffle)
    return BatchesAhead(copy, parallel.purity, stage)


def parallel_pydataset(
    dataset: Any, workers: int = 0, *, patience: float = PATIENCE_S
) -> Any:
    """A `PyDataset` that gives what `dataset` gives, made by `workers` processes,
    one per core unless told. It has `purity`, `broken` and `close()` besides.
    Raises Refused where that cannot be the same."""
    if getattr(dataset, "use_multiprocessing", False):
        raise Refused("the PyDataset uses processes already")
    name = type(dataset).__name__
    make = type(dataset).__getitem__
    if used := _tensorflow(dataset, make):
        raise Refused(
            f"{name} cannot run in worker processes, where TensorFlow is not at "
            f"hand: {used}"
        )
    if held := bound_to_here(make.__get__(dataset)):
        raise Refused(f"{name} cannot be shared with other processes: {held}")
    workers = workers or cores()
    return _class(dataset)(dataset, workers, patience, purity(make.__get__(dataset)))


def _tensorflow(dataset: Any, make: Any) -> str | None:
    """The object itself is Keras', which is no harm: look at the method and at
    what the object holds."""
    if make.__module__.partition(".")[0] in ("keras", "tensorflow", "tf_keras"):
        return f"{type(dataset).__name__} is Keras' own"
    used = tensorflow_in(make)
    for key, value in vars(dataset).items():
        if used is None and type(value).__module__.partition(".")[0] in (
            *("keras", "tensorflow"),
        ):
            used = f"self.{key}"
    return used


def _class(dataset: Any) -> Any:
    import keras

    class ParallelPyDataset(keras.utils.PyDataset):  # type: ignore[misc]
        def __init__(
            self, original: Any, workers: int, patience: float, hint: Purity
        ) -> None:
            threads = int(getattr(original, "workers", 1))
            queue = int(getattr(original, "max_queue_size", 10))
            super().__init__(workers=threads, max_queue_size=queue)
            self.original = original
            self.purity = hint
            self._ahead = _Ahead(original, workers, patience, alone=threads <= 1)

        @property
        def broken(self) -> str | None:
            return self._ahead.broken

        @property
        def num_batches(self) -> Any:
            self._ahead.counted(sys._getframe(1))
            return self.original.num_batches

        def __getitem__(self, index: Any) -> Any:
            return self._ahead.get(index)

        def on_epoch_begin(self) -> None:
            begin = getattr(self.original, "on_epoch_begin", None)
            base = getattr(keras.utils.PyDataset, "on_epoch_begin", None)
            if begin is not None and getattr(begin, "__func__", begin) is not base:
                begin()
                self._ahead.renew()

        def on_epoch_end(self) -> None:
            self.original.on_epoch_end()
            self._ahead.renew()

        def close(self) -> None:
            self._ahead.renew()

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            return getattr(self.original, name)

    if hasattr(type(dataset), "__len__"):
        ParallelPyDataset.__len__ = lambda self: len(self.original)
    return ParallelPyDataset


class _Ahead:
    """Makes batches before they are asked for.

    `alone` is False where Keras itself asks from several threads: then there is
    nothing to foresee, every call goes to a process."""

    def __init__(
        self, original: Any, workers: int, patience: float, *, alone: bool
    ) -> None:
        self.broken: str | None = None
        self._original = original
        self._workers = workers
        self._patience = patience
        self._alone = alone
        self._lock = threading.RLock()
        self._pool: Pool | None = None
        self._threads: threads.Pool | None = None
        self._order: Sequence[int] = ()
        self._at = 0
        self._hits = 0
        self._sent = 0
        self._waiting: dict[int, Future[Any]] = {}
        self._draw: tuple[Any, int, bool] | None = None

    def counted(self, frame: Any) -> None:
        """Somebody asks how many there are: `fit`, when it starts an epoch."""
        if not self._alone or frame.f_code.co_name != "_finite_generator":
            return
        adapter = frame.f_locals.get("self")
        count = self._original.num_batches
        shuffles = bool(getattr(adapter, "shuffle", False))
        with self._lock:
            self._order = ()  # whatever comes next starts an epoch
            if count is not None:
                self._draw = (random.getstate(), int(count), shuffles)

    def get(self, index: Any) -> Any:
        if self.broken or type(index) is not int:
            return self._original[index]
        if not self._alone:
            return self._asked(index)
        with self._lock:
            future = self._next(index)
        result = future.result() if future is not None else _NOT_MADE
        if result is not _NOT_MADE:
            return result
        result = self._original[index]
        if future is not None:
            self._give_up("what works in the job fails in a worker")
        return result

    def renew(self) -> None:
        """What was made ahead, and the processes, may be out of date."""
        with self._lock:
            pool, self._pool = self._pool, None
            waiting, self._threads = self._threads, None
            self._waiting.clear()
            self._sent = self._at
        if pool is not None:
            self.broken = self.broken or pool.broken
            pool.close()
        if waiting is not None:
            waiting.close()

    # ----------------------------------------------------------------- the parts

    def _asked(self, index: int) -> Any:
        with self._lock:
            pool = self._started()
        if pool is None:
            return self._original[index]
        return pool.call((index,), lambda: self._original[index])

    def _next(self, index: int) -> Future[Any] | None:
        """The batch that is being made; None to make it here."""
        if self._at >= len(self._order) or self._order[self._at] != index:
            self._foresee(index)
        place = self._at
        self._at += 1
        self._hits += 1
        if self._hits <= _PEEKED:
            self._sent = self._at
            return None
        pool = self._started()
        if pool is None:
            return None
        self._sent = max(self._sent, place)
        last = min(place + LINES * self._workers, len(self._order) - 1)
        while self._sent <= last:
            self._waiting[self._sent] = self._send(pool, self._order[self._sent])
            self._sent += 1
        future = self._waiting.pop(place, None)
        if self._at == len(self._order) and not self._waiting and future is not None:
            future.add_done_callback(lambda _: self._end(pool))
        return future

    def _foresee(self, index: int) -> None:
        """A new order begins with this batch."""
        self.renew()
        count = self._original.num_batches
        # Without a number of batches they go on for ever.
        order: Sequence[int] = range(index, sys.maxsize if count is None else count)
        self._hits = 0
        if self._draw is not None:
            state, count, shuffles = self._draw
            self._draw = None
            if shuffles:
                drawn = list(range(count))
                like = random.Random()
                like.setstate(state)
                like.shuffle(drawn)
                order = drawn
            if order and order[0] == index:
                self._hits = _PEEKED  # surely an epoch, not a look
        self._order = order if order and order[0] == index else (index,)
        self._at = self._sent = 0

    def _started(self) -> Pool | None:
        if self._pool is None and self.broken is None:
            try:
                self._pool = Pool(
                    self._original.__getitem__, self._workers, patience=self._patience
                )
            except Refused as error:
                self._give_up(str(error))
                return None
            self._threads = threads.Pool(LINES * self._workers)
        if self._pool is not None and self._pool.broken:
            self._give_up(self._pool.broken)
        return self._pool if self.broken is None else None

    def _send(self, pool: Pool, index: int) -> Future[Any]:
        assert self._threads is not None
        return self._threads.submit(pool.call, (index,), lambda: _NOT_MADE)

    def _end(self, pool: Pool) -> None:
        """The last batch of the epoch is there: the processes are not needed."""
        threads.start(self._close, pool)

    def _close(self, pool: Pool) -> None:
        with self._lock:
            current = self._pool is pool
        if current:
            self.renew()

    def _give_up(self, reason: str) -> None:
        if self.broken is None:
            self.broken = reason
            _log.warning("the PyDataset goes on in the job's process: %s", reason)
        self.renew()
