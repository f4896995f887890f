"""What each stage of a pipeline costs, measured on a copy that is read alone.

First TensorFlow's own model of the running copy (`nodes.py`), then the CPU time of its
prefixes (`prefixes.py`), because the model does not count the time of calling
functions. The result keeps the law (`law.py`): what says more than the input as a whole
allows is measured again, every stage by its prefix and for longer, and left out if it
still does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from feedline.files.cores import cores
from feedline.job.loops.loop import Clock
from feedline.job.tfdata import ops
from feedline.job.tfdata.ops import Fact
from feedline.job.tfdata.pipeline import Pipeline, Stage
from feedline.measure.law import NOISE, excesses, lawful, within
from feedline.measure.measurement import StageCost
from feedline.measure.nodes import (
    GONE,
    Node,
    costs,
    in_shares,
    read_model,
    told_rightly,
)
from feedline.measure.prefixes import Prefix, Rate, measure_all, rates

_SATURATED = 0.7
"""With this part of the cores, or of the one interpreter, in use, a kernel that takes
longer than its CPU time waits for its turn and not for a disk."""


@dataclass(frozen=True)
class Watched:
    """The stages' costs; `alone`: ms per batch of the input, measured with them, 0
    where that was not needed; `unknown`: which stages are left out, and why;
    `guessed`: where some are, what all may cost, to choose what to try."""

    stages: tuple[StageCost, ...]
    alone: float = 0.0
    unknown: tuple[str, ...] = ()
    guessed: tuple[StageCost, ...] = ()


def watch_stages(
    pipeline: Pipeline,
    clock: Clock,
    seconds: float,
    alone: float | None = None,
    most: float = math.inf,
    *,
    by_model: bool = False,
) -> Watched:
    """Read a copy of the pipeline alone for a while and take its costs. `alone`: the
    milliseconds in which the job's own input gives a batch, where that is known.
    What contradicts that is measured again for longer, unless all of it would take
    more seconds than `most`. `by_model`: what TensorFlow's own model tells is enough.
    """
    began = clock.now()
    from feedline.job.tfdata.rebuild import rebuild

    small = replace(pipeline, root=_small_shuffles(pipeline.root))
    node = _watch(rebuild(small, fresh=True), clock, seconds / 3)
    found = costs(pipeline, node or GONE)
    if node is None:
        found = tuple(_as_written(pipeline, cost) for cost in found)
    elif by_model and alone is not None:
        found, unknown = told_rightly(pipeline, found)
        told = _told(pipeline, found, alone, 0.0)
        return replace(told, unknown=(*unknown, *told.unknown))
    reading = _Reading(small, found, clock)
    reading.read(2 * seconds / 3, every=node is None)
    allowed = alone if alone is not None else reading.alone()
    said = reading.costs(allowed)
    if alone is None or not _contradicted(reading, pipeline, said, allowed):
        return _told(pipeline, said, allowed, 0.0)
    # The job's own input had batches ready when it was timed, or a stage was timed
    # too briefly. Both are measured again.
    took = clock.now() - began
    if took + max(took, 2 * seconds) <= most:
        reading.read(2 * seconds, every=True)
        allowed = max(allowed, reading.alone())
        said = reading.costs(allowed)
    if _contradicted(reading, pipeline, said, allowed):
        # Then what the kernels take beyond their CPU time is waiting for a core.
        said = reading.costs(allowed, waits=False)
    return _told(pipeline, said, allowed, allowed)


def _told(
    pipeline: Pipeline, said: Sequence[StageCost], allowed: float, alone: float
) -> Watched:
    stages, unknown = lawful(pipeline, said, allowed, cores())
    guessed = within(pipeline, said, allowed, cores()) if unknown else ()
    return Watched(stages, alone, unknown, tuple(guessed))


def watch_live(
    pipeline: Pipeline, iterator: Any, alone: float
) -> tuple[tuple[StageCost, ...], tuple[str, ...]]:
    """The same of an input that cannot be read twice, from TensorFlow's model of the
    job's own iterator."""
    node = read_model(iterator)
    if node is None:
        return (), ()
    order = list(pipeline.stages())
    found = [
        _within(cost, alone) if cost.index >= 0 and order[cost.index].python else cost
        for cost in costs(pipeline, node)
    ]
    right, unknown = told_rightly(pipeline, found)
    stages, more = lawful(pipeline, right, alone, cores())
    return stages, (*unknown, *more)


def _within(cost: StageCost, alone: float) -> StageCost:
    """Python beside a training loop waits for the interpreter as well, and that is
    not its own time."""
    ms = min(cost.ms_per_batch, alone)
    each = ms / max(cost.elements_per_batch, 1e-9)
    return replace(cost, ms_per_batch=ms, ms_per_element=each)


def _contradicted(
    reading: _Reading, pipeline: Pipeline, said: Sequence[StageCost], alone: float
) -> bool:
    over = excesses(pipeline, said, alone, cores())
    return reading.disordered() or any(each.beyond_noise for each in over)


class _Reading:
    """The prefixes of one pipeline, as far as they were measured."""

    def __init__(
        self, pipeline: Pipeline, found: Sequence[StageCost], clock: Clock
    ) -> None:
        self._pipeline, self._found, self._clock = pipeline, found, clock
        self._stages = list(pipeline.stages())
        self._place = {id(stage): place for place, stage in enumerate(self._stages)}
        self._cost = {cost.index: cost for cost in found if cost.index >= 0}
        self._prefixes: dict[int, Prefix] = {}
        self._own: set[int] = set()

    def read(self, seconds: float, *, every: bool) -> None:
        """Measure the stages that call a function or read files, or `every` one."""
        self._own |= {
            index for index in self._cost if every or _mistold(self._stages[index])
        }
        wanted = {self._place[id(self._pipeline.root)]}
        for index in self._own:
            wanted |= {index, *self._inputs(index)}
        for index in sorted(wanted - self._prefixes.keys()):
            upto = replace(self._pipeline, root=self._stages[index])
            width = self._width(index)
            self._prefixes[index] = Prefix(upto, width, self._clock)
        measure_all(self._prefixes.values(), self._clock, seconds)

    def alone(self) -> float:
        """Wall time per batch of the whole pipeline."""
        return self._rates()[self._place[id(self._pipeline.root)]].wall

    def disordered(self) -> bool:
        """Does a prefix take less CPU than a shorter one, by more than noise?"""
        rates = self._rates()
        return any(
            self._upto(rates, index) * NOISE
            < sum(self._upto(rates, each) for each in self._inputs(index))
            for index in self._own
        )

    def costs(self, alone: float, *, waits: bool = True) -> tuple[StageCost, ...]:
        rates = self._rates()
        own = {index: self._of(rates, index) for index in self._own}
        python = sum(own[i] for i in own if self._stages[i].python)
        total = self._upto(rates, self._place[id(self._pipeline.root)])
        full = total > _SATURATED * alone * cores() or not waits
        together = sum(own.values())
        if together > total > 0:  # none is below 0, so noise adds up
            own = {index: ms * total / together for index, ms in own.items()}
        locked = python > _SATURATED * alone
        return in_shares(
            [
                _with_cpu(
                    cost,
                    own[cost.index],
                    queues=full
                    or (locked and self._stages[cost.index].python)
                    or self._stages[cost.index].has(Fact.WAITING_COUNTED),
                )
                if cost.index in own
                else cost
                for cost in self._found
            ]
        )

    def _rates(self) -> dict[int, Rate]:
        return rates(self._prefixes)

    def _of(self, rates: Mapping[int, Rate], index: int) -> float:
        """CPU ms per batch of this stage by itself; where it reads files, the time
        itself if that is longer."""
        before = sum(self._upto(rates, each) for each in self._inputs(index))
        return max(0.0, self._upto(rates, index) - before)

    def _upto(self, rates: Mapping[int, Rate], index: int) -> float:
        rate = rates[index]
        waits = self._stages[index].has(Fact.RECORDS)
        each = max(rate.cpu, rate.wall) if waits else rate.cpu
        return each * self._elements(index)

    def _inputs(self, index: int) -> list[int]:
        return [self._place[id(each)] for each in self._stages[index].inputs]

    def _elements(self, index: int) -> float:
        """Elements of this stage that a batch needs. One that TensorFlow's model does
        not tell of gives as many as the stage that it feeds takes."""
        if index in self._cost:
            return self._cost[index].elements_per_batch
        for later, stage in enumerate(self._stages):
            if index in (self._place[id(each)] for each in stage.inputs):
                size = stage.args.get("batch_size")
                each = size if isinstance(size, int) else 1
                return self._elements(later) * each
        return 1.0

    def _width(self, index: int) -> float:
        if index in self._cost and self._cost[index].bytes_per_element > 0:
            return self._cost[index].bytes_per_element
        return float(sum(each.bytes or 0 for each in self._stages[index].spec))


def _with_cpu(cost: StageCost, cpu: float, *, queues: bool) -> StageCost:
    """The larger of the time in its kernels and the CPU time of the stage, per batch.
    Where the kernels take longer they wait for something, unless the machine or the
    interpreter has no time for them (`queues`): then their CPU time is what counts."""
    ms = cpu if queues else max(cost.ms_per_batch, cpu)
    return replace(
        cost,
        ms_per_element=ms / max(cost.elements_per_batch, 1e-9),
        ms_per_batch=ms,
        busy=min(1.0, cpu / ms) if ms > 0 else 1.0,
    )


def _mistold(stage: Stage) -> bool:
    """Stages whose work TensorFlow's model does not tell: functions, readers, whose
    finished files it forgets, and what it charges for waiting."""
    known = stage.has(Fact.RECORDS) or stage.has(Fact.WAITING_COUNTED)
    return bool(stage.functions) or known


def _watch(dataset: Any, clock: Clock, seconds: float) -> Node | None:
    """TensorFlow's model of this dataset after some reading. It forgets stages
    that have come to their end, so it is asked again and again and the fullest
    answer counts."""
    import tensorflow as tf

    options = tf.data.Options()
    optimization = options.experimental_optimization
    optimization.map_and_batch_fusion = False
    optimization.shuffle_and_repeat_fusion = False
    optimization.map_fusion = False
    options.autotune.enabled = True
    dataset = dataset.with_options(options)
    begin = asked = clock.now()
    best: Node | None = None
    iterator, pulled = iter(dataset), 0
    while clock.now() < begin + seconds or (
        pulled < 2 and clock.now() < begin + 5 * seconds
    ):
        try:
            next(iterator)
        except StopIteration:
            if pulled == 0:
                break
            iterator = iter(dataset)
            continue
        pulled += 1
        if pulled & (pulled - 1) == 0 or clock.now() > asked + 0.1:
            asked = clock.now()
            best = max((read_model(iterator), best), key=_fullness)
    return best


def _fullness(node: Node | None) -> tuple[int, int]:
    return (0, 0) if node is None else (_size(node), node.elements)


def _size(node: Node) -> int:
    return 1 + sum(_size(child) for child in node.inputs)


def _small_shuffles(stage: Stage) -> Stage:
    """What a shuffle costs per element does not depend on its buffer, but
    filling a large one takes long."""
    inputs = tuple(_small_shuffles(upstream) for upstream in stage.inputs)
    size = stage.args.get("buffer_size")
    if stage.op == ops.SHUFFLE and isinstance(size, int) and size > 64:
        args = {**stage.args, "buffer_size": 64}
        return replace(stage, inputs=inputs, args=args)
    if all(new is old for new, old in zip(inputs, stage.inputs, strict=True)):
        return stage
    return replace(stage, inputs=inputs)


def _as_written(pipeline: Pipeline, cost: StageCost) -> StageCost:
    """Without TensorFlow's model only the arguments tell how a stage runs."""
    stage = list(pipeline.stages())[cost.index]
    calls = stage.args.get("num_parallel_calls")
    threads = cores() if calls == -1 else calls or 1
    ahead = stage.op == ops.PREFETCH or calls is not None
    return replace(cost, parallelism=threads, asynchronous=ahead)
