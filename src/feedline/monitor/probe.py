"""How long does the step wait for its batch, inside of Keras' `fit`?

Keras hands the iterator to a compiled function, and the wait happens inside of it,
where no clock stands. So now and then one step is fed in the open: its batch is taken
from the job's own iterator with a clock around it, put into an iterator that holds
just this batch, and the same compiled function is called with that one. It waits for
the same batch at the same moment, trains the same batches in the same order, and
nothing is traced again: an iterator is an argument of the function, and the two have
the same type. Under a strategy each replica has an iterator; each gets its stand-in.

What this costs is known, and `Pace` spends no more than its part of the time on it,
at steps drawn by lot, so that no rhythm of the input falls into step with it.
"""

from __future__ import annotations

import random
import statistics
import sys
from collections import deque
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from feedline.job import marks
from feedline.job.loops.loop import Clock
from feedline.job.private import tensorflow as tf_private

_FIRST_PROBES = 6
_FIRST_APART = 8.0


class CannotProbe(Exception):
    """The wait of this job cannot be seen; the message says why. `batches` were taken
    already and must be trained: None where there are none."""

    def __init__(self, reason: str, batches: list[Any] | None = None) -> None:
        super().__init__(reason)
        self.batches = batches


@dataclass(frozen=True)
class Probe:
    """`iterator` holds what the step would have taken. `waited` are seconds,
    `cost` those that the step would not have needed without us."""

    iterator: Any
    waited: float
    cost: float
    examples: int | None
    kept: tuple[Any, ...]


class Pace:
    """When to probe: at steps drawn by lot, as often as the budget allows. What a
    probe costs is a median: one that the machine interrupted says nothing."""

    def __init__(self, budget: float) -> None:
        self._budget = budget
        self._lot = random.Random(0)  # not the generator that the user seeds
        self._costs: deque[float] = deque(maxlen=9)
        self._probes = self._next = 0

    def due(self, calls: int) -> bool:
        return calls >= self._next

    def never(self) -> None:
        self._next = sys.maxsize

    def probed(self, calls: int, cost: float, call: float) -> None:
        """It took `cost` seconds; a call takes `call` of them. The first few come
        soon, so that something is known early."""
        self._costs.append(cost)
        self._probes += 1
        apart = 1.0
        if call > 0:
            apart = max(1.0, statistics.median(self._costs) / (self._budget * call))
        if self._probes < _FIRST_PROBES:
            apart = min(apart, _FIRST_APART)
        self._next = calls + max(1, round(apart * self._lot.uniform(0.5, 1.5)))


def leaves(iterator: Any) -> list[Any]:
    """The single iterators that the step reads from, one for each replica."""
    if isinstance(iterator, tf.data.Iterator):
        found = [iterator]
    elif isinstance(iterator, tf.distribute.DistributedIterator):
        found = []
        for worker in tf_private.iterators(iterator):
            inner = tf_private.iterator(worker)
            found += list(tf_private.device_iterators.get(inner, [inner]))
    else:
        raise CannotProbe(f"the step reads from a {type(iterator).__name__}")
    if not tf.config.experimental.get_synchronous_execution():
        raise CannotProbe("operations are executed asynchronously")
    for leaf in found:
        known = tf_private.flat_output_types(leaf), tf_private.flat_output_shapes(leaf)
        if None in known:
            raise CannotProbe("the kind of its elements is not known")
        device = str(tf_private.iterator_resource(leaf).device)
        if "CPU" not in device:
            raise CannotProbe(f"its input lies on {device}")
    return found


def take(iterator: Any, steps: int, clock: Clock) -> Probe | None:
    """Take the batches of the next `steps` steps. None at the end of the data: the
    step will see that for itself."""
    try:
        sources = leaves(iterator)
    except (AttributeError, TypeError) as error:  # another TensorFlow
        raise CannotProbe(f"{type(error).__name__}: {error}") from error
    begin = clock.now()
    taken = [_elements(leaf, steps) for leaf in sources]
    end = clock.now()
    if not any(taken):
        return None
    try:
        return _fed(iterator, sources, taken, end - begin, clock)
    except Exception as error:  # no batch may be lost by it
        batches = [_structured(sources[0], flat) for flat in taken[0]]
        raise CannotProbe(f"{type(error).__name__}: {error}", batches) from error


def _structured(leaf: Any, flat: list[Any]) -> Any:
    from feedline.job.private.tensorflow import structure

    return structure.from_compatible_tensor_list(leaf.element_spec, flat)


def _fed(
    iterator: Any, sources: list[Any], taken: list[Any], waited: float, clock: Clock
) -> Probe:
    begin = clock.now()
    made = tuple(
        _holding(leaf, elements) if elements else tf_private.iterator_resource(leaf)
        for leaf, elements in zip(sources, taken, strict=True)
    )
    ours = {
        id(tf_private.iterator_resource(leaf)): resource
        for leaf, resource in zip(sources, made, strict=True)
    }
    flat = tf.nest.flatten(iterator, expand_composites=True)
    stand_in = tf.nest.pack_sequence_as(
        iterator, [ours.get(id(part), part) for part in flat], expand_composites=True
    )
    setattr(stand_in, marks.FOR, iterator)
    sizes = [_length(element) for elements in taken for element in elements]
    known = [size for size in sizes if size is not None]
    examples = sum(known) if len(known) == len(sizes) else None
    return Probe(stand_in, waited, clock.now() - begin, examples, made)


def _elements(leaf: Any, most: int) -> list[list[Any]]:
    found: list[list[Any]] = []
    for _ in range(most):
        try:
            element = tf.raw_ops.IteratorGetNext(
                iterator=tf_private.iterator_resource(leaf),
                output_types=tf_private.flat_output_types(leaf),
                output_shapes=tf_private.flat_output_shapes(leaf),
            )
        except tf.errors.OutOfRangeError:
            break
        found.append(element)
    return found


def _holding(leaf: Any, elements: list[list[Any]]) -> Any:
    """The resource of an iterator over these elements, where the leaf's own is."""
    types, shapes = (
        tf_private.flat_output_types(leaf),
        tf_private.flat_output_shapes(leaf),
    )
    with tf.device(tf_private.iterator_resource(leaf).device):
        variant = tf.raw_ops.TensorDataset(components=elements[0], output_shapes=shapes)
        for element in elements[1:]:
            more = tf.raw_ops.TensorDataset(components=element, output_shapes=shapes)
            variant = tf.raw_ops.ConcatenateDataset(
                input_dataset=variant,
                another_dataset=more,
                output_types=types,
                output_shapes=shapes,
            )
        variant = tf.raw_ops.OptionsDataset(
            input_dataset=variant,
            serialized_options=_plain_options(),
            output_types=types,
            output_shapes=shapes,
        )
        resource = tf.raw_ops.AnonymousIteratorV3(
            output_types=types, output_shapes=shapes
        )
        tf.raw_ops.MakeIterator(dataset=variant, iterator=resource)
    return resource


_options: bytes = b""


def _plain_options() -> bytes:
    """No optimizer and no tuning for an iterator that gives one batch."""
    global _options  # noqa: PLW0603 - made once, when TensorFlow is there
    if not _options:
        options = tf.data.Options()
        options.autotune.enabled = False
        options.experimental_optimization.apply_default_optimizations = False
        _options = tf_private.to_proto(options)().SerializeToString()
    return _options


def _length(element: list[Any]) -> int | None:
    for tensor in element:
        if tensor.dtype != tf.variant and tensor.shape.rank:
            return int(tensor.shape[0])
    return None
