"""Does a graph that was traced with open lengths compute with numbers made of these
lengths, in a way that another trace would round otherwise?

Where a length is known, what is made of it is a constant, and TensorFlow's optimizer of
graphs rewrites arithmetic with constants: `x / 9` becomes `x * (1 / 9)`, and
`(x * 3) * (1 / 9)` becomes `x * (3 / 9)`. For some lengths and values both are the
same to the bit, for others they are not, so no comparison of some calls shows it. It is
read off the graph: a number that comes from a length may meet others only where no
rewriting changes a bit. Powers of two never do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from feedline.job.loops.step_state import graphs_called_by

_LENGTHS = frozenset({"Shape", "ShapeN", "Size", "Rank"})
_ONES = frozenset({"OnesLike", "ZerosLike"})
# They give what they take, in another shape or type; with the place of the value.
_SPREAD = {
    **dict.fromkeys(
        ("Identity", "Reshape", "ExpandDims", "Squeeze", "Tile", "BroadcastTo"), 0
    ),
    **dict.fromkeys(("Cast", "Snapshot", "StopGradient", "PreventGradient"), 0),
    "Fill": 1,
}
_PRODUCTS = frozenset({"Mul", "RealDiv", "Div", "DivNoNan", "Neg"})
_MOST = 1_000_000  # numbers of one constant that are looked at
_SUMS = frozenset({"Add", "AddV2", "Sub"})
_BY_CONSTANT = frozenset({"RealDiv", "Div", "Xdivy", "Pow"})  # become another operation
# Nothing is made of their operands but a choice.
_CHOICES = frozenset({"Select", "SelectV2", "Maximum", "Minimum"})


@dataclass
class _Made:
    """Of which tensors of a graph it is known what they are made of: of lengths, of
    constants, or of nothing but powers of two and 0 (`plain`)."""

    lengths: set[int] = field(default_factory=set)
    constants: set[int] = field(default_factory=set)
    plain: set[int] = field(default_factory=set)

    def known(self, tensor: Any) -> bool:
        return id(tensor) in self.lengths or id(tensor) in self.constants

    def rounds(self, tensor: Any) -> bool:
        """Is it a number known beforehand, or once the lengths are, that does not
        multiply without rounding?"""
        return self.known(tensor) and id(tensor) not in self.plain


def computes_with_lengths(graph: Any) -> str:
    """The name of an operation that does; empty where none is found."""
    return next(_found(graph, _Made()), "")


def _found(graph: Any, made: _Made) -> Iterator[str]:
    operations = _used(graph)
    for op in operations:
        _note(op, made)
    for op in operations:
        if all(map(made.known, op.inputs)):
            continue
        from_lengths = [each for each in op.inputs if id(each) in made.lengths]
        inner = graphs_called_by(op, graph)
        if any(map(_is_float, _that_round(from_lengths, made))) and (
            inner or not _safe(op, made)
        ):
            yield op.name
        for called in inner:
            below = _Made()
            if from_lengths:  # which of them is which is not followed
                below.lengths = {
                    id(each) for each in called.inputs if each.dtype.is_integer
                }
            yield from _found(called, below)


def _used(graph: Any) -> list[Any]:
    """Operations that the results or the variables depend on, in their order. A
    gradient with respect to a length, which nobody asked for, is none."""
    operations = graph.get_operations()
    waiting = [each.op for each in graph.outputs]
    waiting += [op for op in operations if op.op_def.is_stateful]
    found: set[int] = set()
    while waiting:
        op = waiting.pop()
        if id(op) not in found:
            found.add(id(op))
            waiting += [each.op for each in op.inputs]
    return [op for op in operations if id(op) in found]


def _note(op: Any, made: _Made) -> None:
    inputs = list(op.inputs)
    outputs = [id(each) for each in op.outputs]
    if op.type in _LENGTHS:
        known = all(each.shape.is_fully_defined() for each in inputs)
        (made.constants if known else made.lengths).update(outputs)
        return
    if op.type in _ONES:
        made.lengths.update(outputs)
        made.plain.update(outputs)
        return
    if not inputs:
        if op.type == "Const":
            made.constants.update(outputs)
            if _is_plain(op):
                made.plain.update(outputs)
        return
    if op.op_def.is_stateful or not all(map(made.known, inputs)):
        return
    of_length = any(id(each) in made.lengths for each in inputs)
    (made.lengths if of_length else made.constants).update(outputs)
    place = _SPREAD.get(op.type)
    if place is not None and id(inputs[place]) in made.plain:
        made.plain.update(outputs)


def _safe(op: Any, made: _Made) -> bool:
    """Is this operation of a number from a length and others the same to the bit where
    the length is known?"""
    if op.type in _SPREAD or op.type in _CHOICES:
        return True
    if op.type in _BY_CONSTANT and made.rounds(op.inputs[1]):
        return False
    others = [each for each in op.inputs if not made.known(each)]
    return not any(_joined(each, made) for each in _behind(others)) and not any(
        _joined(each, made) for each in _after(op)
    )


def _joined(op: Any, made: _Made) -> bool:
    """May the optimizer draw its constant and that of the next one together?"""
    arithmetic = op.type in _PRODUCTS | _SUMS
    return arithmetic and any(map(made.rounds, op.inputs))


def _behind(tensors: list[Any]) -> Iterator[Any]:
    for tensor in tensors:
        op = tensor.op
        while op.type in _SPREAD:
            op = op.inputs[_SPREAD[op.type]].op
        yield op


def _after(op: Any) -> Iterator[Any]:
    waiting = [user for each in op.outputs for user in each.consumers()]
    while waiting:
        user = waiting.pop()
        if user.type in _SPREAD:
            waiting += [each for out in user.outputs for each in out.consumers()]
        else:
            yield user


def _that_round(tensors: list[Any], made: _Made) -> list[Any]:
    return [each for each in tensors if made.rounds(each)]


def _is_float(tensor: Any) -> bool:
    return bool(tensor.dtype.is_floating or tensor.dtype.is_complex)


def _is_plain(op: Any) -> bool:
    """Are all its numbers powers of two, or 0?"""
    import numpy as np
    import tensorflow as tf

    value = op.get_attr("value")
    if tf.as_dtype(value.dtype) in (tf.string, tf.variant, tf.resource):
        return False
    numbers = np.unique(np.ravel(tf.make_ndarray(value))[:_MOST])
    many = math.prod(each.size for each in value.tensor_shape.dim)
    return many <= _MOST and all(map(_is_power, numbers))


def _is_power(number: Any) -> bool:
    if isinstance(number, complex) or not math.isfinite(number):
        return False
    return abs(math.frexp(number)[0]) in (0.0, 0.5)
