"""How long a training takes, and what is left of it, by the steps that were watched."""

from __future__ import annotations

from statistics import mean, median
from typing import Any


def training_s(loop: Any) -> float | None:
    """None where nobody can tell."""
    from feedline.job.loops.facts import steps_per_epoch_of

    steps = steps_per_epoch_of(loop)
    if loop.epochs is None or steps is None or not loop.periods:
        return None
    return float(loop.epochs * steps * _step_s(loop))


def left_s(loop: Any) -> float | None:
    """The same, without what is behind."""
    whole = training_s(loop)
    if whole is None:
        return None
    return max(0.0, whole - float(loop.steps * _step_s(loop)))


def _step_s(loop: Any) -> float:
    """The first step of a later epoch waits until the input has begun anew: a shuffle
    that holds all the data does the epoch's work there."""
    return float(mean(loop.periods) if loop.passes > 1 else median(loop.periods))
