"""The likely cause of the waiting, from what TensorFlow itself counts in the running
pipeline: no experiment, so it is named as likely and not as proved.

TensorFlow counts from the iterator's beginning. What happened since the last look is
the difference of two looks, where the pipeline still has the same shape.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from feedline import causes
from feedline.errors import FeedlineError
from feedline.job.job import Job
from feedline.job.private import tensorflow as tf_private
from feedline.job.tfdata.pipeline import Pipeline
from feedline.measure.machine import look
from feedline.measure.measurement import Estimate, Measurement, StageCost, StepTimes
from feedline.measure.nodes import Node, costs, read_model
from feedline.report.format import ms

_ROSE = 1.5


@dataclass(frozen=True)
class Blame:
    """`cause` is None where no known one fits; `because` is a sentence."""

    cause: str | None
    because: str


class Pipelines:
    """Looks at the job's pipeline again and again."""

    def __init__(self) -> None:
        self._iterator: Any = None
        self._pipeline: Pipeline | None = None
        self._last: Node | None = None
        self._first: tuple[StageCost, ...] = ()
        self._now: tuple[StageCost, ...] = ()

    def see(self, iterator: Any) -> None:
        """At every reading: what the stages cost since the last one."""
        if iterator is not self._iterator:
            self._iterator, self._last = iterator, None
            self._pipeline = _pipeline(iterator)
        node = read_model(iterator) if self._pipeline is not None else None
        if node is None or self._pipeline is None:
            return
        found = costs(self._pipeline, since(node, self._last))
        self._last = node
        self._now = found
        if not self._first:
            self._first = found

    def blame(self, step_ms: float, share: float, *, drifted: bool) -> Blame | None:
        """None where TensorFlow tells nothing of the pipeline."""
        if self._pipeline is None or not self._now:
            return None
        rose = self._rose() if drifted else ""
        found = _diagnosed(self._pipeline, self._now, step_ms, share)
        if found is None and not rose:
            return None
        said = rose or (found.because if found is not None else "")
        return Blame(found.cause if found is not None else None, said)

    def _rose(self) -> str:
        """The stage that has become dearest since the first look."""
        before = {cost.index: cost for cost in self._first if cost.index >= 0}
        pairs = [(before[c.index], c) for c in self._now if c.index in before]
        risen = [
            (now.ms_per_batch - was.ms_per_batch, was, now)
            for was, now in pairs
            if now.ms_per_batch > _ROSE * was.ms_per_batch
        ]
        if not risen:
            return ""
        _, was, now = max(risen, key=lambda each: each[0])
        at = f" at {now.where}" if now.where else ""
        return (
            f"{now.name}{at} takes {ms(now.ms_per_batch)} per batch; before, "
            f"{ms(was.ms_per_batch)}."
        )


def _pipeline(iterator: Any) -> Pipeline | None:
    """None where the iterator does not know what it reads, as under a strategy."""
    from feedline.job.tfdata.read import read

    dataset = tf_private.dataset.get(iterator)
    if dataset is None:
        return None
    try:
        return read(dataset).numbered()
    except FeedlineError:
        return None


def since(now: Node, before: Node | None) -> Node:
    """What was counted after `before`; all of it where the shape is another."""
    if before is None or not _alike(now, before) or now.elements <= before.elements:
        return now
    return _less(now, before)


def _alike(one: Node, two: Node) -> bool:
    return (
        one.name == two.name
        and len(one.inputs) == len(two.inputs)
        and all(_alike(a, b) for a, b in zip(one.inputs, two.inputs, strict=True))
    )


def _less(now: Node, before: Node) -> Node:
    pairs = zip(now.inputs, before.inputs, strict=True)
    return replace(
        now,
        ms=max(0.0, now.ms - before.ms),
        elements=max(0, now.elements - before.elements),
        bytes=max(0, now.bytes - before.bytes),
        inputs=tuple(_less(one, other) for one, other in pairs),
    )


def _diagnosed(
    pipeline: Pipeline, stages: tuple[StageCost, ...], step_ms: float, share: float
) -> Blame | None:
    """What `feedline why` would look at, with these numbers in place of its own."""
    rest = step_ms * (1 - share)
    step = StepTimes(_exactly(step_ms), _exactly(rest), _exactly(rest))
    measured = Measurement(machine=look(), step=step, stages=stages)
    found = [
        each
        for each in causes.diagnose(Job("fit", pipeline=pipeline), measured)
        if each.cost_ms > 0
    ]
    if not found:
        return None
    return Blame(found[0].cause, found[0].evidence)


def _exactly(value: float) -> Estimate:
    return Estimate(value, value, value)
