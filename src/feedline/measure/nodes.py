"""TensorFlow's own model of a running pipeline, beside the stages the user wrote.

`get_model_proto` tells, for every node of a running pipeline, how long it
worked and how many elements it made. The nodes are those that really run:
TensorFlow may have made a map parallel or put a prefetch at the end. This file
walks that tree beside the `Pipeline`, stage by stage. With fusion off the two differ
only by such additions and by stages without a node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import Any

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


def costs(pipeline: Pipeline, root: Node) -> tuple[StageCost, ...]:
    """Stage costs as TensorFlow's model gives them, source first, shares of the
    whole adding up to 1."""
    order = {id(stage): index for index, stage in enumerate(pipeline.stages())}
    found = [
        _cost(order[id(stage)] if stage is not None else -1, stage, node, wanted)
        for stage, node, wanted in _align(pipeline.root, root, 1.0)
    ]
    return in_shares(found[::-1])


def told_rightly(
    pipeline: Pipeline, found: Sequence[StageCost]
) -> tuple[tuple[StageCost, ...], tuple[str, ...]]:
    """Nothing for the stages whose cost TensorFlow's model does not tell, and why."""
    order = list(pipeline.stages())
    wrong = [
        cost
        for cost in found
        if cost.index >= 0 and order[cost.index].has(Fact.WAITING_COUNTED)
    ]
    right = [
        replace(cost, ms_per_element=0.0, ms_per_batch=0.0) if cost in wrong else cost
        for cost in found
    ]
    return in_shares(right), tuple(
        f"what {cost.name} costs: TensorFlow counts its waiting for the stages before "
        "it as work"
        for cost in wrong
    )


def in_shares(found: Sequence[StageCost]) -> tuple[StageCost, ...]:
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


GONE = Node("", 0.0, 0, 0, 1, 1.0, ())
"""Stands for a stage that TensorFlow's model knows no more: it has ended."""


def _align(
    stage: Stage, node: Node, wanted: float
) -> Iterator[tuple[Stage | None, Node, float]]:
    """Pairs of stage and node, with how many elements of it one batch needs."""
    if node is GONE:
        yield stage, node, wanted
        ratio = stage.args.get("batch_size") or 1
        for upstream in stage.inputs:
            yield from _align(upstream, GONE, wanted * ratio)
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
    below = _feeding(stage, node)
    chosen = {id(child) for child in below}
    inner = tuple(child for child in node.inputs if id(child) not in chosen)
    yield stage, _with_children(node, inner), wanted
    for upstream, child in zip(stage.inputs, below, strict=True):
        yield from _align(upstream, child, wanted * _ratio(node, child))


def _feeding(stage: Stage, node: Node) -> tuple[Node, ...]:
    """The nodes of the stage's inputs. A node may have others: the files that an
    interleave has open, the numbers of an `enumerate`, which TensorFlow zips to the
    elements. Those that look most like the inputs are taken, the first on a tie."""
    wanted, there = len(stage.inputs), node.inputs
    if len(there) <= wanted:
        return there + (GONE,) * (wanted - len(there))
    ways = islice(combinations(there, wanted), _MOST_WAYS)
    return max(ways, key=lambda way: sum(map(_likeness, stage.inputs, way)))


_MOST_WAYS = 64


def _likeness(stage: Stage, node: Node) -> int:
    """How many stages have a node, from this one up to a branch."""
    alike = 0
    while True:
        if _matches(stage, node):
            alike += 1
        elif not node.name.startswith("Prefetch"):
            return alike
        else:  # one that TensorFlow put in
            stage = Stage("", (stage,))
        if len(stage.inputs) != 1 or not node.inputs:
            return alike
        stage, node = stage.inputs[0], node.inputs[0]


def _ratio(node: Node, child: Node | None = None) -> float:
    """Elements taken for each one given."""
    if node.ratio > 0:
        return node.ratio
    child = child or (node.inputs[0] if node.inputs else GONE)
    taken = child.elements
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
