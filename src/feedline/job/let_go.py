"""Let go of an iterator without waiting for it.

AUTOTUNE has a thread that looks at the pipeline ever less often: after 10 ms, 20 ms, 40
ms, up to a minute. When the last reference to an iterator goes, TensorFlow wakes this
thread to end it, but marks it as cancelled only after that; so a thread that wakes fast
finds nothing to do and sleeps on, and whoever dropped the iterator waits, with Python's
lock in hand, for as long again as the iterator was in use (seen with TensorFlow 2.21;
`benchmarks/epoch_end.py`). Here the reference is handed to TensorFlow, and a thread of
ours makes it drop it.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf
from tensorflow.python.data.ops.iterator_ops import OwnedIterator

log = logging.getLogger(__name__)

_numbers = itertools.count()
_inside: list[None] = []  # one for each context
_waiting: set[threading.Thread] = set()
_LONGEST_S = 10.0


@contextmanager
def without_waiting() -> Iterator[None]:
    """Inside, every iterator of tf.data goes so. At its end they are gone."""
    if not _inside:
        OwnedIterator.__del__ = _dropped
    _inside.append(None)
    try:
        yield
    finally:
        _inside.pop()
        if not _inside:
            del OwnedIterator.__del__
            for thread in list(_waiting):
                thread.join(_LONGEST_S)


def _dropped(iterator: Any) -> None:
    """`iterator` has no other reference any more."""
    try:
        last = [iterator.__dict__.pop("_iterator_resource", None)]
        if isinstance(last[0], tf.Tensor) and last[0].dtype == tf.resource:
            thread = threading.Thread(target=_clear, args=(last,), daemon=True)
            _waiting.add(thread)
            thread.start()
    except Exception:  # then it goes as it would have gone
        log.info("an iterator was not let go", exc_info=True)


def _clear(last: list[Any]) -> None:
    """TensorFlow holds on to the handle in `last`, then nobody else does, then neither
    does it."""
    name = f"feedline_let_go_{next(_numbers)}"
    try:
        with tf.device("/CPU:0"):
            tf.raw_ops.Stage(values=[last[0]], shared_name=name)
            last.clear()
            tf.raw_ops.StageClear(dtypes=[tf.resource], shared_name=name)
    except Exception:
        log.info("an iterator was not let go", exc_info=True)
    finally:
        _waiting.discard(threading.current_thread())
