"""A map that draws, split into what is the same each time and what is drawn.

`still` computes from the element everything that no draw has touched; `drawn` draws,
and does the rest. One after the other they are the map. What `still` gives can be
kept: a picture is decoded once, and flipped anew in every epoch. The random operations
are copied with their seeds and run once per element in the old order, so the numbers
are the same.

A shuffle that `list_files` holds inside is told apart too, so that something can stand
between the names and their order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from feedline.fixes.means.rewrite.draws import drawing_in, holds_state, is_cheap
from feedline.fixes.means.rewrite.flat import (
    CannotRewrite,
    Flat,
    Tensor,
    ancestors,
    as_function,
    flat,
    replay,
)
from feedline.job.private import tensorflow as tf_private
from feedline.job.tfdata import ops
from feedline.job.tfdata.pipeline import Stage


@dataclass(frozen=True)
class SplitMap:
    """`bytes` is what `still` gives for one element."""

    still: Callable[..., Any]
    drawn: Callable[..., Any]
    bytes: int


def apart(stage: Stage) -> SplitMap:
    """The function of the map `stage` in two."""
    import tensorflow as tf

    one = flat(stage, inside=holds_state)
    touched = _touched(one, {op.name for op in drawing_in(stage, one)})
    made = _made_of_the_element(one) - touched
    cut = _cut(one, touched, made)
    needed = ancestors(cut)
    if all(is_cheap(op) for op in one.ops if op.name in needed & made):
        raise CannotRewrite(stage, "nothing expensive comes before what it draws")
    handed = tuple(tf.TensorSpec(t.shape, t.dtype) for t in cut)
    before = [op for op in one.effects if op.name not in touched]
    after = [op for op in one.effects if op.name in touched]
    captured = {inside.name: outside for outside, inside in one.captures}

    def still(element: list[Any]) -> list[Any]:
        return replay(one.graph, one.feeds(element), cut, before)

    def drawn(given: list[Any]) -> list[Any]:
        fed = {t.name: value for t, value in zip(cut, given, strict=True)} | captured
        return replay(one.graph, fed, one.outputs, after, without=made)

    return SplitMap(
        as_function(f"still_{one.name}", one.input_structure, still, handed),
        as_function(f"drawn_{one.name}", handed, drawn, one.output_structure),
        sum(_bytes(stage, tensor) for tensor in cut),
    )


def names_and_order(stage: Stage) -> Stage:
    """A `list_files` that shuffles, as a shuffle over the names: the same object."""
    from feedline.job.tfdata.recognised import find, unadapted

    shuffle = find(stage.handle.dataset)
    names = find(unadapted(tf_private.input_dataset(stage.handle.dataset)))
    front = Stage(
        names.op, args=names.args, spec=stage.spec, where=stage.where, handle=names
    )
    return replace(
        stage, op=ops.SHUFFLE, inputs=(front,), args=shuffle.args, handle=shuffle
    )


def _touched(one: Flat, drawing: set[str]) -> set[str]:
    """The draws, and all that depends on them."""
    found = set(drawing)
    for op in one.ops:  # what is needed stands before what needs it
        before = [*(tensor.op for tensor in op.inputs), *op.control_inputs]
        if any(each.name in found for each in before):
            found.add(op.name)
    return found


def _made_of_the_element(one: Flat) -> set[str]:
    found = {tensor.op.name for tensor in one.inputs}
    for op in one.ops:
        if any(tensor.op.name in found for tensor in op.inputs):
            found.add(op.name)
    return found


def _cut(one: Flat, touched: set[str], made: set[str]) -> list[Tensor]:
    """What leaves the part that is the same each time."""
    outputs = {tensor.name for tensor in one.outputs}
    return [
        tensor
        for op in one.ops
        if op.name in made
        for tensor in op.outputs
        if tensor.name in outputs
        or any(use.name in touched for use in tensor.consumers())
    ]


def _bytes(stage: Stage, tensor: Tensor) -> int:
    size = tensor.shape.num_elements()
    if size is None or not tensor.dtype.size:
        raise CannotRewrite(stage, f"how large {tensor.op.type} is cannot be told")
    return int(size) * int(tensor.dtype.size)
