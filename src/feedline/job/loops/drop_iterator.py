"""Let go of an iterator without waiting for it.

AUTOTUNE has a thread that looks at the pipeline ever less often: after 10 ms, 20 ms, 40
ms, up to a minute. When the last reference to an iterator goes, TensorFlow wakes this
thread to end it, but marks it as cancelled only after that; so a thread that wakes fast
finds nothing to do and sleeps on, and whoever dropped the iterator waits, with Python's
lock in hand, for up to as long again as the iterator was in use (seen with TensorFlow
2.21; `benchmarks/epoch_end.py`). Every epoch of a `fit` ends so. Here the reference is
handed to TensorFlow, and a thread of ours makes it drop it, and waits in the job's
stead.
"""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from feedline.job import marks
from feedline.job.private import tensorflow as tf_private
from feedline.job.private.tensorflow import OwnedIterator
from feedline.job.tfdata import ops
from feedline.job.tfdata.pipeline import Stage
from feedline.job.tfdata.read import read
from feedline.process.threads import Hidden, start

log = logging.getLogger(__name__)

_LONGEST_S = 10.0
_MARK = marks.UNSEEN
_LARGE = 100_000  # bytes of a tensor of unknown size
_MANY = 1_000_000
_numbers = itertools.count()


@dataclass(eq=False)
class _Place:
    """One context: which datasets' iterators, how long theirs took to go, and the
    threads in which they go."""

    may: Callable[[Any], bool]
    seconds: list[float] = field(default_factory=list)
    threads: set[Hidden] = field(default_factory=set)


_inside: list[_Place] = []  # the innermost is the last


@contextmanager
def without_waiting(
    may: Callable[[Any], bool] = lambda _: True, *, longest: float | None = _LONGEST_S
) -> Iterator[list[float]]:
    """Inside, the iterators of those datasets that `may` go so. At its end they are
    gone, or so many seconds have passed. The list has how many seconds each of them
    took, as soon as it is gone."""
    place = _Place(may)
    if not _inside:
        OwnedIterator.__del__ = _dropped
    _inside.append(place)
    try:
        yield place.seconds
    finally:
        _inside.remove(place)
        if not _inside:
            del OwnedIterator.__del__
        for thread in list(place.threads):
            thread.join(longest)


def look(dataset: Any, room: float) -> None:
    """Note on a dataset whether it may go `unseen`, and what its shuffles hold fits
    into `room` bytes twice: a pass that was broken off lets go of it later. Not to be
    left to the moment when an iterator goes, which may be any."""
    if hasattr(dataset, _MARK):
        return
    try:
        stages = list(read(dataset).stages())
    except Exception:  # what cannot be understood may be anything
        log.info("a dataset cannot be read as a pipeline", exc_info=True)
        setattr(dataset, _MARK, False)
        return
    may = not any(
        stage.op == ops.OPAQUE
        or stage.python
        or not stage.rereadable
        or any(f.stateful and not f.random for f in stage.functions)
        for stage in stages
    )
    setattr(dataset, _MARK, may and sum(map(_held, stages)) <= room)


def _held(stage: Stage) -> float:
    """Bytes in a shuffle's buffer, at the most; a guess where shapes do not tell."""
    if stage.op != ops.SHUFFLE:
        return 0.0
    buffer = stage.args.get("buffer_size")
    count = buffer if isinstance(buffer, int) else _MANY
    return count * sum(
        _LARGE if each.bytes is None else each.bytes for each in stage.spec
    )


def unseen(dataset: Any) -> bool:
    """Would nobody notice when an iterator over it goes a little later, beside the next
    one? Not where it runs Python, or works on something that lives longer than it; nor
    where nobody had a `look`."""
    return bool(getattr(dataset, _MARK, False))


def _dropped(iterator: Any) -> None:
    """`iterator` has no other reference any more."""
    try:
        dataset = tf_private.dataset.get(iterator)
        place = next((p for p in reversed(_inside) if p.may(dataset)), None)
        if place is None:
            return
        last = [iterator.__dict__.pop(tf_private.iterator_resource.name, None)]
        if isinstance(last[0], tf.Tensor) and last[0].dtype == tf.resource:
            for ended in [each for each in place.threads if not each.alive]:
                place.threads.discard(ended)
            place.threads.add(start(_clear, last, place))
    except Exception:  # then it goes as it would have gone
        log.info("an iterator was not let go", exc_info=True)


def _clear(last: list[Any], place: _Place) -> None:
    """TensorFlow holds on to the handle in `last`, then nobody else does, then neither
    does it."""
    name = f"feedline_let_go_{next(_numbers)}"
    try:
        with tf.device("/CPU:0"):
            tf.raw_ops.Stage(values=[last[0]], shared_name=name)
            began = time.perf_counter()
            last.clear()
            tf.raw_ops.StageClear(dtypes=[tf.resource], shared_name=name)
            place.seconds.append(time.perf_counter() - began)
    except Exception:  # then it goes as it would have gone
        last.clear()
