"""Does the changed step train the same weights? Both steps from the same start,
on the same batches, and every variable compared bit for bit."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from feedline.job.snapshot import restored, variables_of

log = logging.getLogger(__name__)

Call = Callable[[Any], Any]


@dataclass(frozen=True)
class SameWeights:
    """`largest` is the largest difference, relative to the largest weight."""

    equal: bool
    steps: int
    largest: float = 0.0


def compare(
    model: Any,
    before: tuple[Call, int],
    after: tuple[Call, int],
    dataset: Any,
    steps: int,
) -> SameWeights:
    """`before` and `after` are a step and how many steps one call of it makes.

    TensorFlow adds up the gradients of repeated rows on several threads, in an order
    that differs from run to run: the job is not the same as itself, in the last
    bits. So both run with TensorFlow's deterministic operations where they can.
    """
    try:
        with _deterministic():
            one, two = (_trained(model, c, dataset, steps) for c in (before, after))
    except (RuntimeError, tf.errors.OpError) as error:
        log.info("not deterministic: %s", error)
        one, two = (_trained(model, c, dataset, steps) for c in (before, after))
    largest = 0.0
    equal = len(one) == len(two)
    for a, b in zip(one, two, strict=False):
        if a.tobytes() != b.tobytes():
            equal = False
            if a.dtype.kind == "f":
                scale = float(np.max(np.abs(a))) or 1.0
                largest = max(largest, float(np.max(np.abs(a - b))) / scale)
    return SameWeights(equal, steps, largest)


@contextmanager
def _deterministic() -> Iterator[None]:
    from tensorflow.python.framework import config

    if config.is_op_determinism_enabled():
        yield
        return
    config.enable_op_determinism()
    try:
        yield
    finally:
        config.disable_op_determinism()


def _trained(
    model: Any, step: tuple[Call, int], dataset: Any, steps: int
) -> list[np.ndarray[Any, Any]]:
    call, per_call = step
    with restored(model):
        iterator = iter(dataset)
        for _ in range(steps // per_call):
            call(iterator)
        return [np.array(variable.numpy()) for variable in variables_of(model)]
