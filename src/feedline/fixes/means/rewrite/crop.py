"""A picture of which a part is cut out right after decoding, decoded in that part.

Colours are stored at half the resolution, and the decoder smooths them across
neighbours, which it must therefore have: `DecodeAndCropJpeg` alone gets the last
column wrong. With some pixels more on every side, cut off afterwards, the pixels are
the same. One difference remains: a file that is broken outside of the part no longer
stops the job. What is no JPEG is decoded as before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from feedline.fixes.means.rewrite.flat import (
    CannotRewrite,
    Flat,
    Operation,
    Tensor,
    copy_op,
    flat,
)
from feedline.fixes.means.rewrite.jpeg import (
    ATTRIBUTES,
    decode,
    decodes,
    is_jpeg,
    is_of_pictures,
    rewritten,
    uses,
)
from feedline.job.tfdata.pipeline import Stage

# Two would do where colours have half the resolution; some files store a quarter.
_MARGIN = 32


def cropped_decode(stage: Stage) -> Callable[..., Any]:
    """The function of the map `stage`, decoding only what it cuts out."""
    one = flat(stage, inside=is_of_pictures)
    chosen: set[str] = set()
    reason = "it decodes no JPEG"
    for op in decodes(one):
        try:
            _check_cropped(stage, one, op)
        except CannotRewrite as error:
            reason = error.reason
        else:
            chosen.add(op.name)
    if not chosen:
        raise CannotRewrite(stage, reason)

    def convert(op: Operation, inputs: list[Any]) -> list[Any] | None:
        if op.name in chosen:
            return [_Undecoded(op, inputs[0])]
        picture = inputs[0] if inputs else None
        if not isinstance(picture, _Undecoded):
            return None
        if op.type == "Shape":
            return [picture.shape(op.outputs[0].dtype)]
        if op.type in ("Identity", "ExpandDims"):
            return [replace(picture, one_of_many=op.outputs[0].shape.rank == 4)]
        return [picture.part(op, inputs)]

    return rewritten(one, convert)


def _check_cropped(stage: Stage, one: Flat, decoding: Operation) -> None:
    """Its shape may be asked for; of its pixels one part is taken."""
    import tensorflow as tf

    def follow(op: Operation, tensor: Tensor) -> bool:
        if op.type == "ExpandDims":
            first = tf.get_static_value(op.inputs[1]) == 0
            return bool(first and tensor.shape.rank == 3)
        return bool(op.type == "Identity")

    cuts = 0
    for op, tensor in uses(stage, one, decoding.outputs[0], follow):
        many = tensor.shape.rank != 3
        cut = op.type == "Slice" and (not many or _is_whole(op))
        cut = cut or (op.type == "StridedSlice" and not many and _is_plain_cut(op))
        if not cut and not (op.type == "Shape" and decoding.get_attr("channels")):
            raise CannotRewrite(stage, f"the whole picture is used by {op.type}")
        cuts += cut
    if cuts != 1:
        raise CannotRewrite(stage, "there is not one part that is cut out")


def _is_whole(op: Operation) -> bool:
    """One picture among one: it is taken, whatever is cut out of it."""
    before, after = op.inputs[0].shape, op.outputs[0].shape
    return bool(before[0] == 1 and after.rank == 4 and after[0] == 1)


def _is_plain_cut(op: Operation) -> bool:
    """`picture[a:b, c:d]`, nothing turned, skipped, added or taken away."""
    import tensorflow as tf

    begin, end, strides = (tf.get_static_value(one) for one in op.inputs[1:])
    marks = ("ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
    if strides is None or begin is None or end is None:
        return False
    return (
        not any(op.get_attr(mark) for mark in marks)
        and all(int(step) == 1 for step in strides)
        and all(int(n) >= 0 for n in (*begin, *end))
    )


@dataclass(frozen=True)
class _Undecoded:
    """A picture that nobody has looked at yet."""

    decoding: Operation
    contents: Tensor
    one_of_many: bool = False

    @property
    def op(self) -> Operation:
        return self.contents.op

    def shape(self, dtype: Any) -> Tensor:
        import tensorflow as tf

        channels = self.decoding.get_attr("channels")

        def from_header() -> Tensor:
            size = tf.io.extract_jpeg_shape(self.contents)[:2]
            return tf.concat([size, [channels]], 0)

        found = tf.cond(
            is_jpeg(self.contents),
            from_header,
            lambda: tf.shape(decode(self.decoding, self.contents)),
        )
        found = tf.concat([[1], found], 0) if self.one_of_many else found
        return tf.cast(found, dtype)

    def part(self, op: Operation, inputs: list[Any]) -> Tensor:
        """What `op` cuts out, and no more decoded than that takes."""
        import tensorflow as tf

        def whole() -> Tensor:
            picture = decode(self.decoding, self.contents)
            picture = picture[tf.newaxis] if self.one_of_many else picture
            return copy_op(op, [picture, *inputs[1:]]).outputs[0]

        def only() -> Tensor:
            height, width = tf.unstack(tf.io.extract_jpeg_shape(self.contents)[:2])
            begin, size = self._bounds(op, inputs, height, width)
            low = tf.maximum(begin - _MARGIN, 0)
            high = tf.minimum(begin + size + _MARGIN, [height, width])
            window = tf.concat([low, high - low], 0)
            cut = self._cut(window)
            cut = tf.slice(cut, [*tf.unstack(begin - low), 0], [*tf.unstack(size), -1])
            return self._channels(op, inputs, cut)

        part = tf.cond(is_jpeg(self.contents), only, whole)
        part.set_shape(op.outputs[0].shape)
        return part

    def _cut(self, window: Tensor) -> Tensor:
        import tensorflow as tf

        return tf.raw_ops.DecodeAndCropJpeg(
            contents=self.contents,
            crop_window=window,
            ratio=1,
            **{name: self.decoding.get_attr(name) for name in ATTRIBUTES},
        )

    def _bounds(
        self, op: Operation, inputs: list[Any], height: Tensor, width: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Where the part begins and how large it is: rows, columns."""
        import tensorflow as tf

        whole = tf.stack([height, width])
        if op.type == "Slice":
            first = 1 if self.one_of_many else 0
            begin, size = (
                tf.cast(one, tf.int32)[first : first + 2] for one in inputs[1:]
            )
            return begin, tf.where(size < 0, whole - begin, size)
        begin, end = (tf.get_static_value(one).tolist() for one in op.inputs[1:3])
        low, high = [], []
        for axis, limit in ((0, height), (1, width)):
            given = axis < len(begin)
            from_start = not given or op.get_attr("begin_mask") & (1 << axis)
            to_end = not given or op.get_attr("end_mask") & (1 << axis)
            low.append(tf.constant(0) if from_start else tf.minimum(begin[axis], limit))
            high.append(limit if to_end else tf.minimum(end[axis], limit))
        start = tf.stack(low)
        return start, tf.maximum(tf.stack(high) - start, 0)

    def _channels(self, op: Operation, inputs: list[Any], cut: Tensor) -> Tensor:
        """The axis of colours is cut as it was asked for."""
        import tensorflow as tf

        if op.type == "StridedSlice":
            begin = tf.get_static_value(op.inputs[1])
            if len(begin) < 3:
                return cut
            masks = {name: op.get_attr(name) for name in ("begin_mask", "end_mask")}
            whole = {name: mask | 3 for name, mask in masks.items()}
            return tf.strided_slice(cut, *inputs[1:], **whole)
        begin, size = inputs[1:]
        if self.one_of_many:
            begin, size = begin[1:], size[1:]
        ahead = tf.zeros([2], begin.dtype)
        cut = tf.slice(
            cut, tf.concat([ahead, begin[2:]], 0), tf.concat([ahead - 1, size[2:]], 0)
        )
        return cut[tf.newaxis] if self.one_of_many else cut
