"""Where the batches of an experiment come from.

`Live` is the job's own input, read on from where the job stands. `Ring` is a
handful of ready batches that go round. Neither knows what a step is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from feedline.job.loops.loop import CannotRun, Clock, InputFailed, LoopEnded
from feedline.job.loops.theirs import Theirs, rest, weakly
from feedline.job.private import tensorflow as tf_private

_RING_BYTES = 512 * 2**20
_LONG_START_S = 2.0
_SHORT_START = 0.2  # of a measuring budget


class Live:
    """The job's own iterator. At the end of an epoch it starts the next one, as
    the job would, `renewals` times at the most, and drops that epoch's first
    batch: filling a shuffle buffer is no part of a steady step. `starts` keeps
    how long that took."""

    resting = False
    dataset = Theirs()
    iterator = Theirs()

    def __init__(self, dataset: Any, iterator: Any, clock: Clock) -> None:
        self.go_on(dataset, iterator)
        self.renewals = math.inf if dataset is not None else 0
        self.starts: list[float] = []
        self.start_guess = 0.0
        self.long_start_s = _LONG_START_S
        # How batches are read once an epoch is under way, and how many steps were
        # made in reading them.
        self.read: Callable[[Any], Any] = next
        self.unseen: Callable[[], int] = lambda: 0
        self._clock = clock

    def go_on(
        self, dataset: Any, iterator: Any, over: Callable[[], None] | None = None
    ) -> None:
        """From now on the job reads from here. Where it is told when that is `over`,
        which is when the script drops the iterator, it does not hold it."""
        self.resting = False
        self.dataset = dataset
        self.iterator = iterator
        if over is not None:
            self._drops(iterator, over)
        single = isinstance(iterator, tf.data.Iterator)
        self.element_spec: Any = iterator.element_spec if single else None

    def _drops(self, iterator: Any, over: Callable[[], None]) -> None:
        def gone(dropped: Any) -> None:
            if vars(self)["_iterator"] is dropped:
                over()

        seen = weakly(iterator, gone)
        if seen is not None:
            vars(self)["_iterator"] = seen

    def rest(self) -> None:
        """Nobody reads from it for now, and perhaps never again."""
        rest(self)

    def pull(self) -> Any:
        if self.iterator is None:
            return self.renew()
        try:
            return self._next(self.read)
        except (StopIteration, tf.errors.OutOfRangeError):
            return self.renew()

    def renew(self) -> Any:
        """Start the next epoch; its first batch comes back."""
        if self.renewals <= 0:
            raise LoopEnded("the input ended, and the job would not read it again")
        self.renewals -= 1
        begin = self._clock.now()
        self.iterator = iter(self.dataset)
        try:
            first = self._next(next)
        except (StopIteration, tf.errors.OutOfRangeError):
            raise LoopEnded("the input has no more batches") from None
        self.starts.append(self._clock.now() - begin)
        return first

    def begin(self) -> None:
        """Take the first batch, to see how long an epoch takes to start."""
        begin = self._clock.now()
        self._next(next)
        self.starts.append(self._clock.now() - begin)

    @property
    def start_s(self) -> float:
        """How long an epoch takes to start, at least: the first one of all takes
        longer."""
        return min(self.starts, default=self.start_guess)

    def within(self, seconds: float) -> None:
        """It is measured for so long: then a start that takes a good part of that is
        not made again and again."""
        self.long_start_s = min(_LONG_START_S, _SHORT_START * seconds)

    def release(self) -> bool:
        """Let go of the iterator while nobody reads from it.

        Its threads would go on preparing batches beside the steps that are timed
        then. And TensorFlow doubles an automatic prefetch buffer each time it is
        first full and then empty: stopping and going on a few times would hide
        the slowest input behind a thousand prepared batches, and fill the memory.
        Not where starting again takes long, or may not be done.
        """
        start = max([self.start_guess, *self.starts[-3:]])
        if math.isinf(self.renewals) and start < self.long_start_s:
            self.iterator = None
            return True
        return False

    def _next(self, read: Callable[[Any], Any]) -> Any:
        try:
            return read(self.iterator)
        except (StopIteration, tf.errors.OutOfRangeError):
            raise
        except Exception as error:
            raise InputFailed(error) from error

    def drain(self, *, most: int = 32, seconds: float = 0.4) -> None:
        """Take away what was prepared ahead while nobody was reading, so that
        the next steps meet the input at its own pace. Ends when a batch takes
        longer than one that lay ready."""
        begin = self._clock.now()
        fastest = float("inf")
        for _ in range(most):
            before = self._clock.now()
            self.pull()
            took = self._clock.now() - before
            if took > max(3 * fastest, 0.001) or before - begin > seconds:
                return
            fastest = min(fastest, took)


class Ring:
    """Ready batches, going round."""

    def __init__(self, batches: list[Any]) -> None:
        self.batches = batches
        self._turn = 0

    @classmethod
    def filled_from(cls, pull: Callable[[], Any], size: int) -> Ring:
        """Take batches until there are enough, or enough bytes of them; a
        smaller last batch of an epoch is left out."""
        batches: list[Any] = []
        total = 0
        for _ in range(3 * size):
            batch = pull()
            if batches and batch_size(batch) != batch_size(batches[0]):
                if (batch_size(batch) or 0) < (batch_size(batches[0]) or 0):
                    continue
                batches, total = [], 0
            batches.append(batch)
            total += nbytes(batch)
            enough = len(batches) >= size or total * (1 + 1 / len(batches)) > (
                _RING_BYTES
            )
            if enough:
                break
        return cls(batches)

    def next(self) -> Any:
        self._turn = (self._turn + 1) % len(self.batches)
        return self.batches[self._turn]

    def resized(self, size: int) -> Ring:
        return Ring([resize(batch, size) for batch in self.batches])

    def on_device(self, device: str) -> Ring:
        def move(value: Any) -> Any:
            if getattr(value, "dtype", None) == tf.string:
                return value
            with tf.device(device):
                return tf.identity(value)

        return Ring(
            [
                tf.nest.map_structure(move, batch, expand_composites=True)
                for batch in self.batches
            ]
        )

    def dataset(self, spec: Any = None) -> Any:
        """An endless dataset of these batches that costs next to nothing.

        Where the batches fit `spec` it claims that element spec (an unknown batch
        dimension, for one), so that a function already traced for the job's own
        iterator takes this one without tracing again.
        """
        if any(is_per_replica(v) for v in tf.nest.flatten(self.batches[0])):
            raise CannotRun("batches of several replicas make no single dataset")
        ring = tf.data.Dataset.from_tensors(self.batches[0])
        for batch in self.batches[1:]:
            ring = ring.concatenate(tf.data.Dataset.from_tensors(batch))
        options = tf.data.Options()
        options.autotune.enabled = False
        options.experimental_optimization.apply_default_optimizations = False
        ring = ring.repeat().with_options(options)
        if spec is None or not all(fits(batch, spec) for batch in self.batches):
            return ring
        from feedline.job.private.tensorflow import dataset_ops

        return dataset_ops._VariantDataset(tf_private.variant_tensor(ring), spec)


def is_per_replica(value: Any) -> bool:
    return isinstance(value, tf.distribute.DistributedValues)


def fits(batch: Any, spec: Any) -> bool:
    """Is this batch one that the element spec allows?"""
    try:
        checks = tf.nest.map_structure(
            lambda part, value: part.is_compatible_with(value), spec, batch
        )
    except (TypeError, ValueError):
        return False
    return all(tf.nest.flatten(checks))


def _tensors(batch: Any) -> list[Any]:
    flat: list[Any] = []
    for value in tf.nest.flatten(batch):
        flat += list(value.values) if is_per_replica(value) else [value]
    return flat


def batch_size(batch: Any) -> int | None:
    """Examples in a batch, over all replicas; None where it has no such thing."""
    for value in tf.nest.flatten(batch):
        parts = value.values if is_per_replica(value) else [value]
        lengths = [_length(part) for part in parts]
        known = [length for length in lengths if length is not None]
        if known and len(known) == len(lengths):
            return sum(known)
    return None


def _length(tensor: Any) -> int | None:
    shape = getattr(tensor, "shape", None)
    if shape is None or not shape.rank or shape[0] is None:
        return None
    return int(shape[0])


def nbytes(batch: Any) -> int:
    total = 0
    for tensor in tf.nest.flatten(_tensors(batch), expand_composites=True):
        dtype = getattr(tensor, "dtype", None)
        count = int(tf.size(tensor)) if dtype is not None else 0
        total += count * (dtype.size if dtype and dtype != tf.string else 32)
    return total


def resize(batch: Any, size: int) -> Any:
    """The same batch with `size` examples: cut, or repeated to that length."""
    old = batch_size(batch)
    if old is None or old == 0:
        raise CannotRun("the batch has no example dimension to vary")

    def change(value: Any) -> Any:
        if is_per_replica(value):
            from feedline.job.private.tensorflow import distributed_values as values

            share = max(1, size // len(value.values))
            return values.PerReplica(
                tuple(_resize_one(part, part.shape[0], share) for part in value.values)
            )
        return _resize_one(value, old, size)

    return tf.nest.map_structure(change, batch)


def _resize_one(value: Any, old: int, size: int) -> Any:
    if isinstance(value, tf.SparseTensor):
        raise CannotRun("sparse batches cannot be cut to another size")
    if value.shape.rank is None or value.shape.rank == 0 or value.shape[0] != old:
        return value
    if size <= old:
        return value[:size]
    times = -(-size // old)
    return tf.concat([value] * times, axis=0)[:size]
