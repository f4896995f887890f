"""A picture that is made small right after decoding, decoded small.

A JPEG can be decoded at a half, a quarter or an eighth of its size, and the decoder
then skips most of its work. `scaled_decode` takes, picture by picture, the smallest
of these that still covers the target. The pixels differ: grade numeric. What is no
JPEG (`decode_jpeg` takes PNG as well) is decoded as before. For a part that is cut
out see `crop.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from feedline.fixes.means.rewrite.flat import (
    CannotRewrite,
    Convert,
    Flat,
    Operation,
    Tensor,
    ancestors,
    as_function,
    flat,
    replay,
)
from feedline.fixes.means.rewrite.operations import PICTURES
from feedline.job.tfdata.pipeline import Stage

_RATIOS = (1, 2, 4, 8)
_POINTWISE = {"Mul", "RealDiv", "Div", "Sub", "AddV2", "Add"}
_FOLLOWED = {"Cast", "Identity", "ExpandDims"}
ATTRIBUTES = (
    "channels",
    "fancy_upscaling",
    "try_recover_truncated",
    "acceptable_fraction",
    "dct_method",
)


def scaled_decode(stage: Stage) -> Callable[..., Any]:
    """The function of the map `stage`, decoding pictures no larger than needed."""
    one = flat(stage, inside=is_of_pictures)
    targets: dict[str, tuple[int, int]] = {}
    reason = "it decodes no JPEG"
    for op in decodes(one):
        try:
            targets[op.name] = _largest(stage, one, op)
        except CannotRewrite as error:
            reason = error.reason
    if not targets:
        raise CannotRewrite(stage, reason)

    def convert(op: Operation, inputs: list[Any]) -> list[Any] | None:
        if op.name not in targets:
            return None
        return [_decoded_small(op, inputs[0], targets[op.name])]

    return rewritten(one, convert)


def is_of_pictures(op: Operation) -> bool:
    """Where it is inside of a call, the call has to be written out."""
    return op.type == "DecodeJpeg" or op.type in PICTURES


def decodes(one: Flat) -> list[Operation]:
    """The operations that decode a JPEG at its own size."""
    return [
        op for op in one.ops if op.type == "DecodeJpeg" and op.get_attr("ratio") == 1
    ]


def rewritten(one: Flat, convert: Convert) -> Callable[..., Any]:
    """The function with what `convert` makes of some operations."""

    def compute(element: list[Any]) -> list[Any]:
        fed = one.feeds(element)
        return replay(one.graph, fed, one.outputs, one.effects, convert=convert)

    return as_function(one.name, one.input_structure, compute, one.output_structure)


def _largest(stage: Stage, one: Flat, decoding: Operation) -> tuple[int, int]:
    """The size that every use of the picture makes of it."""
    import tensorflow as tf

    sizes = []
    for op, _ in uses(stage, one, decoding.outputs[0], _works_on_pixels):
        if op.type not in PICTURES:
            raise CannotRewrite(stage, f"the whole picture is used by {op.type}")
        size = tf.get_static_value(op.inputs[1])
        if size is None:
            raise CannotRewrite(stage, f"the size of {op.type} is not a constant")
        sizes.append([int(n) for n in size])
    if not sizes:
        raise CannotRewrite(stage, "the decoded picture is not made smaller")
    return max(h for h, _ in sizes), max(w for _, w in sizes)


def uses(
    stage: Stage, one: Flat, tensor: Tensor, follow: Callable[[Operation, Tensor], bool]
) -> Iterator[tuple[Operation, Tensor]]:
    """What the picture in `tensor` runs into, behind operations to `follow`."""
    alive = ancestors(one.outputs, one.effects)
    waiting = [tensor]
    while waiting:
        tensor = waiting.pop()
        if any(tensor is output for output in one.outputs):
            raise CannotRewrite(stage, "the decoded picture itself is given out")
        for op in tensor.consumers():
            if op.name in alive and follow(op, tensor):
                waiting.append(op.outputs[0])
            elif op.name in alive:
                yield op, tensor


def _works_on_pixels(op: Operation, tensor: Tensor) -> bool:
    if op.type in _POINTWISE:
        return _with_constant(op, tensor)
    return op.type in _FOLLOWED


def _with_constant(op: Operation, tensor: Tensor) -> bool:
    """The other operand is one number, or one for each channel."""
    others = [one for one in op.inputs if one.name != tensor.name]
    return all(
        one.shape.rank is not None and one.shape.rank <= 1 and one.op.type == "Const"
        for one in others
    )


def decode(like: Operation, contents: Tensor, ratio: int = 1) -> Tensor:
    """As `like` does it, at another ratio."""
    import tensorflow as tf

    return tf.raw_ops.DecodeJpeg(
        contents=contents,
        ratio=ratio,
        **{name: like.get_attr(name) for name in ATTRIBUTES},
    )


def is_jpeg(contents: Tensor) -> Tensor:
    """By the first bytes; the size of anything else is not asked for."""
    import tensorflow as tf

    return tf.equal(tf.strings.substr(contents, 0, 3), b"\xff\xd8\xff")


def _decoded_small(op: Operation, contents: Tensor, target: tuple[int, int]) -> Tensor:
    """At the largest ratio that leaves at least `target`; the decoder rounds up."""
    import tensorflow as tf

    size = tf.cond(
        is_jpeg(contents),
        lambda: tf.io.extract_jpeg_shape(contents)[:2],
        lambda: tf.zeros([2], tf.int32),
    )
    enough = [
        tf.reduce_all((size + (ratio - 1)) // ratio >= target) for ratio in _RATIOS[1:]
    ]
    index = tf.add_n([tf.cast(one, tf.int32) for one in enough])
    return tf.switch_case(
        index, [lambda ratio=ratio: decode(op, contents, ratio) for ratio in _RATIOS]
    )
