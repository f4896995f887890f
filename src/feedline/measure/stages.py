"""What each stage of a pipeline costs, from TensorFlow's own model of it.

`get_model_proto` tells, for every node of a running pipeline, how long it
worked and how many elements it made. The nodes are those that really run:
TensorFlow may have made a map parallel or put a prefetch at the end. This file
walks that tree beside the `Pipeline` that the user wrote, stage by stage. With
fusion off the two differ only by such additions and by stages without a node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from feedline.files.cores import cores
from feedline.job.loops.loop import Clock
from feedline.job.tfdata import ops
from feedline.job.tfdata.ops import Fact
from feedline.job.tfdata.pipeline import Pipeline, Stage
from feedline.measure.measurement import StageCost

_AHEAD = (
    "Prefetch",
    "ParallelMap",
    "ParallelInterleave",
    "ParallelBatch",
    "MapAndBatch",
)


@dataclass(frozen=True)
class Node:
    """One node of TensorFlow's model, with what its own subtree of unnamed
    children (the files of an interleave) worked."""

    name: str
    ms: float
    elements: int
    bytes: int
    parallelism: int
    ratio: float
    inputs: tuple[Node, ...]


def read_model(iterator: Any) -> Node | None:
    """The running pipeline of this iterator; None where autotune is off, or
    where TensorFlow is too old to tell (2.16)."""
    import tensorflow as tf

    if not hasattr(tf.data.experimental, "get_model_proto"):
        return None
    try:
        model = tf.data.experimental.get_model_proto(iterator)
    except (tf.errors.NotFoundError, ValueError):
        return None
    root = _node(model.nodes, model.output)
    return root.inputs[0] if root.name == "Root" and root.inputs else root


def _node(nodes: Any, key: int) -> Node:
    node = nodes[key]
    parallelism = 1
    for parameter in node.parameters:
        if parameter.name == "parallelism":
            parallelism = max(1, int(parameter.state_value or parameter.value))
    return Node(
        name=node.name,
        ms=node.processing_time / 1e6,
        elements=int(node.num_elements),
        bytes=int(node.bytes_produced),
        parallelism=parallelism,
        ratio=float(node.ratio),
        inputs=tuple(_node(nodes, child) for child in node.inputs if child in nodes),
    )


def watch_stages(
    pipeline: Pipeline, clock: Clock, seconds: float
) -> tuple[StageCost, ...]:
    """Read a copy of the pipeline alone for a while and take its costs."""
    from feedline.job.tfdata.rebuild import rebuild

    small = replace(pipeline, root=_small_shuffles(pipeline.root))
    node = _watch(rebuild(small, fresh=True), clock, seconds / 3)
    found = costs(pipeline, node or _GONE)
    if node is None:
        found = tuple(_as_written(pipeline, cost) for cost in found)
    measured = prefix_costs(small, found, clock, 2 * seconds / 3, every=node is None)
    return _in_shares(
        [
            _at_least(cost, measured[cost.index]) if cost.index in measured else cost
            for cost in found
        ]
    )


def _at_least(cost: StageCost, own: float) -> StageCost:
    """The larger of the time in its kernels and the CPU time of the stage. Where
    the kernels take longer, they wait for something."""
    each = max(cost.ms_per_element, own)
    return replace(
        cost,
        ms_per_element=each,
        ms_per_batch=each * cost.elements_per_batch,
        busy=min(1.0, own / each) if each > 0 else 1.0,
    )


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


def prefix_costs(
    pipeline: Pipeline,
    found: Sequence[StageCost],
    clock: Clock,
    seconds: float,
    *,
    every: bool = False,
) -> dict[int, float]:
    """CPU ms per element of the stages that call a function or read files (or of
    `every` stage), by their index.

    TensorFlow's model counts the time inside kernels and not that of calling
    them, which for small elements is most of it. So the pipeline is read alone
    up to such a stage and up to its input, and the CPU time between them is the
    stage's. CPU time is this process' own: other work on the machine does not
    disturb it.
    """
    stages = list(pipeline.stages())
    calling = [
        cost
        for cost in found
        if cost.index >= 0 and (every or _underrated(stages[cost.index]))
    ]
    own: dict[int, float] = {}
    for cost in calling:
        stage = stages[cost.index]
        share = seconds / len(calling)
        with_it = _reader(replace(pipeline, root=stage), cost, clock, share)
        if not stage.inputs:
            own[cost.index] = with_it()
            continue
        upstream = replace(pipeline, root=stage.inputs[0])
        without = _reader(upstream, cost, clock, share)
        taken = _taken(found, stages, stage, cost)
        rounds = [with_it() - taken * without() for _ in range(3)]
        own[cost.index] = max(0.0, median(rounds))
    return own


def _underrated(stage: Stage) -> bool:
    """Stages whose work TensorFlow's model tells only in part: functions, and
    readers, whose finished files it forgets."""
    return bool(stage.functions) or stage.has(Fact.RECORDS)


def _taken(
    found: Sequence[StageCost], stages: Sequence[Stage], stage: Stage, cost: StageCost
) -> float:
    """Elements that the stage takes for each one it gives."""
    for other in found:
        if other.index >= 0 and stages[other.index] is stage.inputs[0]:
            return other.elements_per_batch / max(cost.elements_per_batch, 1e-9)
    return 1.0


def _reader(
    prefix: Pipeline, cost: StageCost, clock: Clock, seconds: float
) -> Callable[[], float]:
    """Measures CPU ms per element of this prefix, or the time itself where that
    is longer and the prefix reads files. A shuffle after it reads as many elements
    as its buffer holds, without a call into Python for each."""
    import tensorflow as tf

    from feedline.job.loops.devices import quiesce
    from feedline.job.tfdata.rebuild import rebuild

    dataset = rebuild(prefix, fresh=True).repeat()
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    waits = prefix.root.has(Fact.RECORDS)
    most = max(8, min(4096, int(_BUFFER_BYTES / max(cost.bytes_per_element, 1.0))))

    def read(count: int) -> float:
        iterator = iter(dataset.shuffle(count, seed=1).with_options(options))
        quiesce(clock, seconds=0.3)
        cpu, begin = clock.cpu(), clock.now()
        next(iterator)
        cpu, seconds = clock.cpu() - cpu, clock.now() - begin
        return max(cpu, seconds) if waits else cpu

    read(2)
    begin = clock.now()
    read(8)
    each = max((clock.now() - begin) / 8, 1e-6)
    many = int(min(max(8.0, seconds / 8 / each), most))
    few = many // 4

    def measure() -> float:
        return max(0.0, 1e3 * (read(many) - read(few)) / (many - few))

    return measure


_BUFFER_BYTES = 128 * 2**20


def costs(pipeline: Pipeline, root: Node) -> tuple[StageCost, ...]:
    """Stage costs as TensorFlow's model gives them, source first, shares of the
    whole adding up to 1."""
    order = {id(stage): index for index, stage in enumerate(pipeline.stages())}
    found = [
        _cost(order[id(stage)] if stage is not None else -1, stage, node, wanted)
        for stage, node, wanted in _align(pipeline.root, root, 1.0)
    ]
    return _in_shares(found[::-1])


def _in_shares(found: Sequence[StageCost]) -> tuple[StageCost, ...]:
    total = sum(cost.ms_per_batch for cost in found) or 1.0
    return tuple(replace(cost, share=cost.ms_per_batch / total) for cost in found)


def _cost(index: int, stage: Stage | None, node: Node, wanted: float) -> StageCost:
    elements = max(1, node.elements)
    own = node.ms / elements
    return StageCost(
        index=index,
        name=stage.label() if stage is not None else node.name.lower(),
        where=stage.where if stage is not None else None,
        ms_per_element=own,
        ms_per_batch=own * wanted,
        bytes_per_element=node.bytes / elements,
        elements_per_batch=wanted,
        parallelism=node.parallelism,
        asynchronous=node.name.startswith(_AHEAD),
        injected=stage is None,
    )


_GONE = Node("", 0.0, 0, 0, 1, 1.0, ())
"""Stands for a stage that TensorFlow's model knows no more: it has ended."""


def _align(
    stage: Stage, node: Node, wanted: float
) -> Iterator[tuple[Stage | None, Node, float]]:
    """Pairs of stage and node, with how many elements of it one batch needs."""
    if node is _GONE:
        yield stage, node, wanted
        ratio = stage.args.get("batch_size") or 1
        for upstream in stage.inputs:
            yield from _align(upstream, _GONE, wanted * ratio)
        return
    if not _matches(stage, node):
        if node.name.startswith("Prefetch") and node.inputs:
            yield None, node, wanted
            yield from _align(stage, node.inputs[0], wanted)
            return
        if len(stage.inputs) == 1:  # a stage without a node of its own
            yield from _align(stage.inputs[0], node, wanted)
            return
        if len(node.inputs) == 1 and not stage.is_source:
            yield None, node, wanted
            yield from _align(stage, node.inputs[0], wanted * _ratio(node))
            return
    inner = node.inputs[len(stage.inputs) :] if stage.inputs else node.inputs
    whole = _with_children(node, inner)
    yield stage, whole, wanted
    for position, upstream in enumerate(stage.inputs):
        there = position < len(node.inputs)
        below = node.inputs[position] if there else _GONE
        yield from _align(upstream, below, wanted * _ratio(node))


def _ratio(node: Node) -> float:
    """Elements taken for each one given."""
    if node.ratio > 0:
        return node.ratio
    taken = node.inputs[0].elements if node.inputs else 0
    return max(taken, 1) / max(node.elements, 1)


def _with_children(node: Node, inner: tuple[Node, ...]) -> Node:
    """Count the work of inner pipelines (the files of an interleave) with the
    stage that opened them."""
    extra = sum(_all_ms(child) for child in inner)
    return replace(node, ms=node.ms + extra)


def _all_ms(node: Node) -> float:
    return node.ms + sum(_all_ms(child) for child in node.inputs)


def _matches(stage: Stage, node: Node) -> bool:
    names = ops.OPS[stage.op].nodes if stage.op in ops.OPS else ()
    if not names:
        return stage.op.replace("_", "").lower() in node.name.lower()
    return node.name.startswith(names)
