"""Does the changed step train the same weights? Both steps from the same start,
on the same batches, and every variable compared bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from feedline.job.snapshot import restored, variables_of

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
    """`before` and `after` are a step and how many steps one call of it makes."""
    one, two = (_trained(model, call, dataset, steps) for call in (before, after))
    largest = 0.0
    equal = len(one) == len(two)
    for a, b in zip(one, two, strict=False):
        if a.tobytes() != b.tobytes():
            equal = False
            if a.dtype.kind == "f":
                scale = float(np.max(np.abs(a))) or 1.0
                largest = max(largest, float(np.max(np.abs(a - b))) / scale)
    return SameWeights(equal, steps, largest)


def _trained(
    model: Any, step: tuple[Call, int], dataset: Any, steps: int
) -> list[np.ndarray[Any, Any]]:
    call, per_call = step
    with restored(model):
        iterator = iter(dataset)
        for _ in range(steps // per_call):
            call(iterator)
        return [np.array(variable.numpy()) for variable in variables_of(model)]
