"""One operation over a whole batch, where that gives what it gives element by
element.

A value that differs from element to element is `Stacked`: its first axis is the
batch. What comes from constants alone is a plain tensor, the same for all. Most
operations work on a stacked tensor as it is, once ranks are aligned (`BROADCAST`,
`FIRST_INPUT`, reshapes, pictures); for those in `CONVERTED`, `pfor` of TensorFlow
knows the batched form, one operation at a time and never by a hidden loop. An
operation in no table is refused: a list of what is known to be right is shorter
than one of what is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from feedline.fixes.means.rewrite.flat import (
    CALLS,
    Operation,
    Tensor,
    body_of,
    copy_op,
    inner_ops,
    replay,
)
from feedline.fixes.means.rewrite.operations import (
    BROADCAST,
    CONVERTED,
    FIRST_INPUT,
    GUARD,
    PICTURES,
    RESHAPES,
    SHAPES,
)
from feedline.fixes.means.rewrite.total import can_fail


class NotBatched(Exception):
    """Why an operation cannot run over a batch."""


@dataclass(frozen=True)
class Stacked:
    """The values of all elements of a batch, along the first axis."""

    tensor: Tensor

    @property
    def op(self) -> Operation:
        return self.tensor.op


class Batched:
    """Answers for the operations of a function when a batch goes through it."""

    def __init__(self, size: Any, static_size: int | None) -> None:
        self._size, self._static = size, static_size

    def __call__(self, op: Operation, inputs: list[Any]) -> list[Any] | None:
        if not any(isinstance(one, Stacked) for one in inputs):
            return None
        if op.type in SHAPES:
            return self._shape(op)
        self._check(op)
        return [
            self._shaped(*pair)
            for pair in zip(self._outputs(op, inputs), op.outputs, strict=True)
        ]

    def stacked(self, value: Any, like: Tensor) -> Tensor:
        """`value` for every element of the batch, whether it differs or not."""
        import tensorflow as tf

        if isinstance(value, Stacked):
            return value.tensor
        value = tf.broadcast_to(value, tf.concat([[self._size], tf.shape(value)], 0))
        value.set_shape([self._static, *like.shape])
        return value

    def _outputs(self, op: Operation, inputs: list[Any]) -> list[Tensor]:
        import tensorflow as tf

        if op.type in BROADCAST:
            return list(copy_op(op, self._aligned(op, inputs)).outputs)
        if op.type in FIRST_INPUT:
            return self._first_input(op, inputs)
        if op.type in RESHAPES and not any(isinstance(i, Stacked) for i in inputs[1:]):
            return [self._reshaped(inputs[0].tensor, op.outputs[0])]
        if op.type == "ParseExampleV2" and _is_one_unnamed(op):
            return self._first_input(op, inputs)  # takes a scalar or a vector
        if op.type == "StringJoin":
            return list(copy_op(op, [self._spread(one, op) for one in inputs]).outputs)
        if op.type in ("LookupTableFindV2", "LookupTableFind"):
            return self._looked_up(op, inputs)
        if op.type in PICTURES and not isinstance(inputs[1], Stacked):
            return self._pictures(op, inputs)
        if op.type in CALLS:
            return self._body(op, op.get_attr("f").name, inputs)
        if op.type == "Assert":
            condition, *data = (_bare(one) for one in inputs)
            tf.debugging.Assert(tf.reduce_all(condition), data)
            return []
        if op.type in ("If", "StatelessIf"):
            return self._guard(op, inputs) if _is_guard(op) else self._both(op, inputs)
        if op.type in CONVERTED:
            return self._converted(op, inputs)
        raise NotBatched(f"the operation {op.type} is not known to work on a batch")

    def _check(self, op: Operation) -> None:
        """Every element must come out in the same, known shape."""
        for output in op.outputs:
            if not output.shape.is_fully_defined() and op.type != "DecodeRaw":
                raise NotBatched(
                    f"the shape that {op.type} gives depends on the element"
                )
        if op.type == "DecodeRaw" and not all(
            use.type in ("Reshape", "EnsureShape")
            and use.outputs[0].shape.is_fully_defined()
            for use in op.outputs[0].consumers()
        ):
            raise NotBatched("decode_raw may give every element another length")
        if op.type in ("Equal", "NotEqual") and not _fit(*op.inputs):
            raise NotBatched(f"{op.type} is asked to compare unequal shapes")

    def _shape(self, op: Operation) -> list[Tensor]:
        """Of one element: known, and the same for all."""
        import tensorflow as tf

        found = []
        for one, output in zip(op.inputs, op.outputs, strict=True):
            if not one.shape.is_fully_defined():
                raise NotBatched("it asks for a shape that depends on the element")
            dims = one.shape.as_list()
            value: Any = dims
            if op.type == "Size":
                value = one.shape.num_elements()
            elif op.type == "Rank":
                value = len(dims)
            found.append(tf.constant(value, output.dtype, output.shape))
        return found

    def _shaped(self, tensor: Tensor, like: Tensor) -> Stacked:
        if like.shape.rank is not None:
            tensor.set_shape([self._static, *like.shape])
        return Stacked(tensor)

    def _reshaped(self, tensor: Tensor, like: Tensor) -> Tensor:
        import tensorflow as tf

        return tf.reshape(tensor, [self._size, *like.shape.as_list()])

    def _aligned(self, op: Operation, inputs: list[Any]) -> list[Tensor]:
        """A vector and a picture: the vector's axes belong to the last ones of the
        picture, so ones go between them and the batch."""
        import tensorflow as tf

        ranks = [one.shape.rank for one in op.inputs]
        if None in ranks:
            raise NotBatched(f"{op.type} is given a tensor of unknown rank")
        most = max(ranks)
        return [
            one
            if not isinstance(one, Stacked)
            else one.tensor
            if rank == most
            else tf.reshape(
                one.tensor, [self._size, *[1] * (most - rank), *like.shape.as_list()]
            )
            for one, rank, like in zip(inputs, ranks, op.inputs, strict=True)
        ]

    def _first_input(self, op: Operation, inputs: list[Any]) -> list[Tensor]:
        first, *others = inputs
        if not isinstance(first, Stacked) or any(
            isinstance(one, Stacked) for one in others
        ):
            raise NotBatched(f"{op.type} takes more from the element than its values")
        if op.type in ("ClipByValue", "Substr") and any(
            one.shape.rank != 0 for one in op.inputs[1:]
        ):
            raise NotBatched(f"{op.type} has arguments that are not single numbers")
        return list(copy_op(op, [first.tensor, *others]).outputs)

    def _spread(self, one: Any, op: Operation) -> Tensor:
        """A single string joins as it is; among others all must have one shape."""
        alone = 0 if not isinstance(one, Stacked) else len(op.outputs[0].shape) + 1
        if _bare(one).shape.rank == alone:
            return _bare(one)
        raise NotBatched("strings of several shapes are joined")

    def _looked_up(self, op: Operation, inputs: list[Any]) -> list[Tensor]:
        table, keys, default = inputs
        if isinstance(table, Stacked) or isinstance(default, Stacked):
            raise NotBatched("another table or default for every element")
        return list(copy_op(op, [table, keys.tensor, default]).outputs)

    def _pictures(self, op: Operation, inputs: list[Any]) -> list[Tensor]:
        """They take a batch of pictures by themselves."""
        import tensorflow as tf

        _, *rest = op.inputs[0].shape.as_list()
        together = tf.reshape(inputs[0].tensor, [-1, *rest])
        new = copy_op(op, [together, *inputs[1:]])
        return [self._reshaped(new.outputs[0], op.outputs[0])]

    def _guard(self, op: Operation, inputs: list[Any]) -> list[Tensor]:
        import tensorflow as tf

        condition = tf.reduce_all(_bare(inputs[0]))
        check = tf.debugging.Assert(condition, _messages(op) or [op.name])
        with tf.control_dependencies([check] if check is not None else []):
            return [self.stacked(inputs[0], op.outputs[0]) for _ in op.outputs]

    def _both(self, op: Operation, inputs: list[Any]) -> list[Tensor]:
        """Either branch for the whole batch, then each element its own. A branch
        may not fail on elements that were never meant for it."""
        import tensorflow as tf

        fails = can_fail(inner_ops(op))
        if fails or op.inputs[0].shape.rank != 0 or op.inputs[0].dtype != tf.bool:
            what = f"with {', '.join(fails)} in it" if fails else "not on a truth value"
            raise NotBatched(f"there is a condition {what}")
        taken, other = (
            self._body(op, op.get_attr(name).name, inputs[1:])
            for name in ("then_branch", "else_branch")
        )
        chosen = self.stacked(inputs[0], op.inputs[0])
        return [
            tf.where(tf.reshape(chosen, [self._size, *[1] * like.shape.rank]), a, b)
            for a, b, like in zip(taken, other, op.outputs, strict=True)
        ]

    def _body(self, op: Operation, name: str, inputs: list[Any]) -> list[Tensor]:
        body = body_of(op.graph, name)
        fed = {one.name: new for one, new in zip(body.inputs, inputs, strict=True)}
        found = replay(body, fed, body.outputs, convert=self)
        return [self.stacked(*pair) for pair in zip(found, body.outputs, strict=True)]

    def _converted(self, op: Operation, inputs: list[Any]) -> list[Tensor]:
        import tensorflow as tf

        from feedline.job.private.tensorflow import parallel_for as control_flow_ops

        def one(index: Tensor) -> list[Tensor]:
            parts = [
                tf.gather(part.tensor, index) if isinstance(part, Stacked) else part
                for part in inputs
            ]
            return list(copy_op(op, parts).outputs)

        size = self._static if self._static is not None else self._size
        try:
            return list(control_flow_ops.pfor(one, size, fallback_to_while_loop=False))
        except (ValueError, TypeError, NotImplementedError, LookupError) as error:
            reason = (str(error).strip().splitlines() or [""])[0]
            raise NotBatched(f"{op.type} over a batch: {reason}") from error


def _bare(one: Any) -> Tensor:
    return one.tensor if isinstance(one, Stacked) else one


def _messages(guard: Operation) -> list[Any]:
    """What the assertion inside says, as far as it is text."""
    import tensorflow as tf

    data = (t for op in inner_ops(guard) if op.type == "Assert" for t in op.inputs[1:])
    texts = (tf.get_static_value(one) for one in data if one.dtype == tf.string)
    return [tf.constant(text) for text in texts if text is not None]


def _fit(one: Tensor, other: Tensor) -> bool:
    """`==` says False, and nothing else, of shapes that do not go together."""
    import tensorflow as tf

    try:
        return bool(
            tf.broadcast_static_shape(one.shape, other.shape).is_fully_defined()
        )
    except ValueError:
        return False


def _is_one_unnamed(op: Operation) -> bool:
    """One record, and no name for it."""
    serialized, names, *_ = op.inputs
    return bool(serialized.shape.rank == 0 and names.shape.num_elements() == 0)


def _is_guard(op: Operation) -> bool:
    """The condition around an assertion, as `tf.debugging.assert_*` makes it."""
    types = {one.type for one in inner_ops(op)}
    return "Assert" in types and types <= GUARD and len(op.outputs) == 1
