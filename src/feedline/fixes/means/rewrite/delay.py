"""Work on single pixels, put off until a picture has been cut and turned.

A crop throws most of a picture away, and a flip moves pixels about; what is done to
every pixel by itself before them can as well be done after them, to fewer pixels. The
operations are the same, on the same numbers, with the same draws. An operation that
looks at other pixels (a contrast at their mean) stays where it is, and so does all
before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from feedline.fixes.means.rewrite.flat import (
    CannotRewrite,
    Operation,
    Tensor,
    as_function,
    body_of,
    copy_op,
    flat,
    replay,
)
from feedline.job.tfdata.pipeline import Stage

# Each pixel by itself, and dear enough to be worth it.
_DEAR = {"AdjustHue", "AdjustSaturation"}
# With one number for all pixels: rounded the same wherever a pixel lies.
_WITH_A_NUMBER = {"Mul", "AddV2", "Add", "Sub", "RealDiv", "Maximum", "Minimum"}
_ALONE = {"Identity", "Relu", "Relu6", "Neg"}
_IF = {"If", "StatelessIf"}
_IN_A_TURN = {"ReverseV2", "Identity", "Const", "Placeholder", "NoOp"}


def delayed(stage: Stage) -> Callable[..., Any]:
    """The function of the map `stage`, with what can wait put off."""
    one = flat(stage, inside=lambda op: op.type in _DEAR or op.type == "Slice")
    if not _DEAR & {op.type for op in one.ops}:
        raise CannotRewrite(stage, "it does nothing expensive to single pixels")

    def compute(element: list[Any]) -> list[Any]:
        fed = one.feeds(element)
        given = replay(one.graph, fed, one.outputs, one.effects, convert=_convert)
        return [_now(each) for each in given]

    return as_function(
        f"delayed_{one.name}", one.input_structure, compute, one.output_structure
    )


@dataclass(frozen=True)
class _Later:
    """A picture, and what is yet to be done to its pixels."""

    base: Tensor
    work: tuple[tuple[Operation, int, tuple[Any, ...]], ...] = ()

    @property
    def op(self) -> Operation:
        return self.base.op


def _convert(op: Operation, inputs: list[Any]) -> list[Any] | None:
    at = _picture_at(op)
    waiting = [n for n, each in enumerate(inputs) if isinstance(each, _Later)]
    if at is not None and _is_of_pixels(op) and waiting in ([], [at]):
        before = inputs[at] if waiting else _Later(inputs[at])
        others = (*inputs[:at], *inputs[at + 1 :])
        return [_Later(before.base, (*before.work, (op, at, others)))]
    if not waiting:
        return None
    picture = inputs[waiting[0]]
    if at is not None and waiting == [at] and _moves(op):
        inputs = [*inputs[:at], picture.base, *inputs[at + 1 :]]
        return [_Later(copy_op(op, inputs).outputs[0], picture.work)]
    if op.type == "Shape":
        return list(copy_op(op, [picture.base]).outputs)
    return list(copy_op(op, [_now(each) for each in inputs]).outputs)


def _now(value: Any) -> Any:
    """With all that was put off."""
    if not isinstance(value, _Later):
        return value
    made = value.base
    for op, at, others in value.work:
        made = copy_op(op, [*others[:at], made, *others[at:]]).outputs[0]
    return made


def _picture_at(op: Operation) -> int | None:
    """The place of the picture among what it takes."""
    if op.type in _IF:
        return 1 if len(op.inputs) == 2 and len(op.outputs) == 1 else None
    if op.type not in _WITH_A_NUMBER:
        return 0 if op.inputs else None
    ranks = [tensor.shape.rank for tensor in op.inputs]
    if ranks.count(0) != 1 or None in ranks:
        return None
    return 1 - ranks.index(0)


def _is_of_pixels(op: Operation) -> bool:
    return (
        op.type in _DEAR | _WITH_A_NUMBER | _ALONE
        and not op.control_inputs
        and op.outputs[0].shape.rank == 3
        and op.outputs[0].shape[-1] == 3
    )


def _moves(op: Operation) -> bool:
    """Does it cut or turn a picture, and leave every pixel whole?"""
    if op.type == "Slice":
        return bool(op.outputs[0].shape.rank == 3 and op.outputs[0].shape[-1] == 3)
    if op.type == "ReverseV2":
        return _turns(op)
    if op.type not in _IF:
        return False
    for branch in ("then_branch", "else_branch"):
        ops = body_of(op.graph, op.get_attr(branch).name).get_operations()
        if not all(one.type in _IN_A_TURN for one in ops):
            return False
        if not all(_turns(one) for one in ops if one.type == "ReverseV2"):
            return False
    return True


def _turns(op: Operation) -> bool:
    import tensorflow as tf

    axes = tf.get_static_value(op.inputs[1])
    return axes is not None and all(int(axis) in (0, 1, -2, -3) for axis in axes)
