"""Can a function fail on an element?

A fix that runs a function on fewer elements, or later, is exact only if the function
never raises. TensorFlow does not say which operations do; these are known not to.
Operations that check their arguments while they run (a slice, a gather) count only
where shapes and arguments are constants, for then they were checked when traced.
"""

from __future__ import annotations

from collections.abc import Iterable

from feedline.fixes.means.rewrite.flat import CALLS, Operation, called, inner_ops
from feedline.fixes.means.rewrite.operations import (
    ALL_DATA,
    DIVIDES,
    NEVER_FAIL,
    NEVER_FAIL_IF_STATIC,
)


def can_fail(ops: Iterable[Operation]) -> list[str]:
    """The types of the operations that may raise for some element."""
    return sorted({op.type for op in ops if not _never_fails(op)})


def _never_fails(op: Operation) -> bool:
    if op.type in CALLS or op.type in ("If", "StatelessIf"):
        return not can_fail(inner_ops(op))
    if any(called(op)):
        return False
    static = all(t.shape.is_fully_defined() for t in (*op.inputs, *op.outputs))
    if op.type in NEVER_FAIL:  # two shapes that are not known may not fit
        return static or sum(one.shape.rank != 0 for one in op.inputs) <= 1
    if op.type in DIVIDES:  # by zero, where there are no floats to say infinity
        divisor = op.inputs[1]
        return bool(divisor.dtype.is_floating) or _is_not_zero(divisor)
    if op.type == "GatherV2":
        return False
    return op.type in NEVER_FAIL_IF_STATIC and static and _constant_arguments(op)


def _constant_arguments(op: Operation) -> bool:
    """Sizes, axes and offsets are integers that stand behind the data."""
    import tensorflow as tf

    if op.type in ALL_DATA or op.type in ("MatMul", "BatchMatMulV2", "Select"):
        return op.type != "ConcatV2" or tf.get_static_value(op.inputs[-1]) is not None
    if op.type in ("Conv2D", "BiasAdd") or op.type.startswith("Adjust"):
        return True
    arguments = op.inputs if op.type in ("Fill", "Range") else op.inputs[1:]
    return all(
        tf.get_static_value(one) is not None
        for one in arguments
        if one.dtype.is_integer
    )


def _is_not_zero(tensor: object) -> bool:
    import tensorflow as tf

    value = tf.get_static_value(tensor)
    return value is not None and bool((value != 0).all())
