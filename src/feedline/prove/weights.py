"""Does the changed step train the same weights? Both steps from the same start,
on the same batches, and every variable compared bit for bit."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
import tensorflow as tf

from feedline.fixes.means.own_step.graph_step import OwnStep
from feedline.fixes.means.own_step.multi_step import MultiStep
from feedline.job.loops.feeds import Ring
from feedline.job.loops.loop import CannotRun
from feedline.job.loops.snapshot import restored, same_draws, variables_of

log = logging.getLogger(__name__)

Array: TypeAlias = "np.ndarray[Any, Any]"
Call = Callable[[Any], Any]
T = TypeVar("T")


@dataclass(frozen=True)
class SameWeights:
    """`largest` is the largest difference, relative to the largest weight. A step that
    does not repeat itself to the bit is compared with deterministic operations."""

    equal: bool
    steps: int
    largest: float = 0.0
    repeats: bool = True


def compare(
    model: Any,
    before: tuple[Call, int],
    after: tuple[Call, int],
    dataset: Any,
    steps: int,
) -> SameWeights:
    """`before` and `after` are a step and how many steps one call of it makes."""

    def trained(step: tuple[Call, int]) -> list[Array]:
        return _trained(model, step, dataset, steps)

    return _compared(trained, before, after, steps)


def compare_own(step: OwnStep, *, fused: bool = False) -> SameWeights:
    """The script's own step against its graph, or against that graph as XLA compiles
    it, on the calls that were remembered: all that it changes and all that it
    returns."""
    calls = list(step.calls)
    if not calls:
        raise CannotRun("its step was not called")
    for args, kwargs in calls:
        step.require(args, kwargs)
    variables = step.variables()
    returned: dict[bool, Any] = {}

    def trained(run: Callable[..., Any]) -> list[Array]:
        with same_draws(), restored(None, variables):
            given = [run(*args, **kwargs) for args, kwargs in calls]
            returned[run is step.original] = given
            leaves = tf.nest.flatten(given, expand_composites=True)
            return [
                *(np.array(variable.numpy()) for variable in variables),
                *(np.array(leaf) for leaf in leaves if isinstance(leaf, tf.Tensor)),
            ]

    graph = step.as_fused if fused else step.as_graph
    found = _compared(trained, step.original, graph, len(calls))
    if not alike(*returned.values()):
        raise CannotRun("what it returns would not be of the same kind")
    return found


def compare_together(together: MultiStep, ring: Ring, spec: Any) -> SameWeights:
    """Steps of the script's own, one by one and as many in one launch, on the same
    batches: all that they change."""
    count = len(ring.batches)
    if count < 2:
        raise CannotRun("there are too few batches to compare")
    batches = ring.dataset(spec).take(count)
    together.prepare(iter(batches), ring.batches[0])
    variables = together.variables()

    def trained(alone: bool) -> list[Array]:
        with same_draws(), restored(None, variables):
            if alone:
                for batch in batches:
                    together.one(batch, plain=True)
            else:
                iterator = iter(batches)
                with suppress(StopIteration):
                    while True:
                        together.one(together.next(iterator))
            return [np.array(variable.numpy()) for variable in variables]

    before = together.ran
    found = _compared(trained, True, False, count)
    if together.ran == before:
        raise CannotRun(together.broken or "no steps went together")
    return found


def alike(one: Any, two: Any) -> bool:
    """The same structure, the same kinds of things in it."""
    if tf.is_tensor(one) or tf.is_tensor(two) or one is None or two is None:
        return type(one) is type(two)
    if type(one) is not type(two) or not isinstance(one, list | tuple | dict):
        return False
    if isinstance(one, dict):
        return [*one] == [*two] and all(alike(one[key], two[key]) for key in one)
    return len(one) == len(two) and all(map(alike, one, two))


def _compared(
    trained: Callable[[T], list[Array]], before: T, after: T, steps: int
) -> SameWeights:
    """As it will run: TensorFlow's deterministic operations are others than those that
    a job runs which did not ask for them, and may round otherwise."""
    one, two = trained(before), trained(after)
    if same_arrays(one, two):
        return SameWeights(True, steps)
    if same_arrays(one, trained(before)) and same_arrays(two, trained(after)):
        return SameWeights(False, steps, largest(one, two))
    # Gradients of repeated rows are added up on several threads, in an order that
    # differs from run to run: the job is not the same as itself, in the last bits.
    # Whether it is the same arithmetic shows with deterministic operations.
    try:
        with _deterministic():
            one, two = trained(before), trained(after)
    except (RuntimeError, tf.errors.OpError) as error:
        log.info("not deterministic: %s", error)
    return SameWeights(same_arrays(one, two), steps, largest(one, two), repeats=False)


def same_arrays(one: list[Array], two: list[Array]) -> bool:
    return len(one) == len(two) and all(
        a.tobytes() == b.tobytes() for a, b in zip(one, two, strict=True)
    )


def largest(one: list[Array], two: list[Array]) -> float:
    found = 0.0
    for a, b in zip(one, two, strict=False):
        if a.dtype.kind == "f" and a.shape == b.shape and a.size:
            scale = float(np.max(np.abs(a))) or 1.0
            found = max(found, float(np.max(np.abs(a - b))) / scale)
    return found


@contextmanager
def _deterministic() -> Iterator[None]:
    from feedline.job.private.tensorflow import config

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
) -> list[Array]:
    call, per_call = step
    with restored(model):
        iterator = iter(dataset)
        for _ in range(steps // per_call):
            call(iterator)
        return [np.array(variable.numpy()) for variable in variables_of(model)]
