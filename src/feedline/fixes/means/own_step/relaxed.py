"""A `tf.function` of the script's, traced once for calls of several shapes.

The script's function stays as it is, with its traces. Beside it stands one more of the
same Python function, with the same options, traced with those dimensions left open in
which the calls so far differ. It takes a call only if that differs from those it was
made for in nothing but the lengths of open dimensions: a length of 0 or 1 means another
thing to broadcasting, and lengths that were always equal must be so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from feedline.fixes.means.own_step.graph_step import unoptimized
from feedline.job.loops.loop import CannotRun
from feedline.job.private import tensorflow as tf_private
from feedline.job.source.known_tensorflow import keeps_only_variables

Call = tuple[tuple[Any, ...], dict[str, Any]]
Shapes = tuple[tuple[int, ...], ...]
_LEAST = 2


@dataclass(frozen=True)
class Kind:
    """What a trace is made for: the shapes of the tensors, and all else. `objects` are
    models and variables among the arguments, known by their `id`."""

    rest: tuple[Any, ...]
    shapes: Shapes
    objects: tuple[Any, ...] = field(default=(), compare=False, repr=False)


def kind_of(call: Call) -> Kind | None:
    """None where something is among the arguments that is no tensor and no value."""
    rest: list[Any] = []
    shapes: list[tuple[int, ...]] = []
    objects: list[Any] = []
    if not _note(call, rest, shapes, objects):
        return None
    return Kind(tuple(rest), tuple(shapes), tuple(objects))


def _note(
    value: Any, rest: list[Any], shapes: list[tuple[int, ...]], objects: list[Any]
) -> bool:
    import numpy as np
    import tensorflow as tf

    kind = type(value)
    if kind is tuple or kind is list:
        rest.append((kind, len(value)))
        return all(_note(each, rest, shapes, objects) for each in value)
    if kind is dict:
        rest.append((kind, *value))
        return all(_note(each, rest, shapes, objects) for each in value.values())
    if isinstance(value, tf.Tensor):
        rest.append((value.dtype, len(value.shape)))
        shapes.append(tuple(value.shape))
    elif kind is np.ndarray and value.dtype.kind in "biuf":
        rest.append((value.dtype, value.ndim))
        shapes.append(value.shape)
    elif kind in (bool, int, float, str, bytes, type(None)):
        rest.append((kind, value))
    elif isinstance(value, tf.Variable) or (
        keeps_only_variables(kind)
        and not isinstance(value, tf.__internal__.CompositeTensor)
    ):
        rest.append((kind, id(value)))
        objects.append(value)
    else:
        return False
    return True


def without_ones(kinds: Sequence[Kind]) -> list[Kind]:
    """Those whose lengths are at least two wherever they differ from the last."""
    last = kinds[-1].shapes

    def fits(kind: Kind) -> bool:
        return len(kind.shapes) == len(last) and all(
            one == two or min(one, two) >= _LEAST
            for shape, other in zip(kind.shapes, last, strict=True)
            for one, two in zip(shape, other, strict=True)
        )

    return [each for each in kinds if fits(each)]


def by_what_they_tell(kinds: Sequence[Kind]) -> tuple[list[Kind], int]:
    """Those that tell the most last, and how many tell anything: to divide by a length
    and to multiply by its reciprocal is the same for every power of two."""
    changing = [
        (tensor, axis)
        for tensor, shape in enumerate(kinds[0].shapes)
        for axis in range(len(shape))
        if len({_length(each, (tensor, axis)) for each in kinds}) > 1
    ]

    def tells(kind: Kind) -> bool:
        lengths = (_length(kind, place) for place in changing)
        return any(length & (length - 1) for length in lengths)

    return sorted(kinds, key=tells), sum(map(tells, kinds))


def options_forbid(function: Any) -> str:
    """Why another trace of this `tf.function` would help nothing; empty where not."""
    if tf_private.reduce_retracing.get(function, False):
        return "it reduces retracing already"
    if function.input_signature is not None:
        return "its signature is fixed"
    if tf_private.jit_compile.get(function, False):
        return "XLA compiles it for each shape"
    return ""


class Relaxed:
    """`optimized`: TensorFlow's optimizer of graphs (Grappler) goes over it, as over
    any function. Raises `CannotRun` where these kinds do not differ in shapes alone."""

    def __init__(self, function: Any, kinds: Sequence[Kind]) -> None:
        first = kinds[0]
        if any(each.rest != first.rest for each in kinds):
            raise CannotRun("its calls differ in more than shapes")
        places = [
            (tensor, axis)
            for tensor, shape in enumerate(first.shapes)
            for axis in range(len(shape))
        ]
        self._closed = {
            (tensor, axis): first.shapes[tensor][axis]
            for tensor, axis in places
            if len({each.shapes[tensor][axis] for each in kinds}) == 1
        }
        self.open = [place for place in places if place not in self._closed]
        if not self.open:
            raise CannotRun("its calls do not differ in shapes")
        self._rest = first.rest
        self._equal = [
            (one, two)
            for one, two in combinations(self.open, 2)
            if all(_length(each, one) == _length(each, two) for each in kinds)
        ]
        if not all(map(self.takes, kinds)):
            raise CannotRun("a length of 0 or 1 is among its shapes")
        self.optimized = True
        self._function = tf_private.clone(function)(None)

    def trace(self, call: Call) -> Any:
        """The graph, for calls like this one with the open dimensions open."""
        args, kwargs = self._specs(call)
        return self._function.get_concrete_function(*args, **kwargs).graph

    @property
    def traces(self) -> int:
        return int(self._function.experimental_get_tracing_count())

    def takes(self, kind: Kind) -> bool:
        return (
            kind.rest == self._rest
            and all(_length(kind, place) == n for place, n in self._closed.items())
            and all(_length(kind, place) >= _LEAST for place in self.open)
            and all(_length(kind, a) == _length(kind, b) for a, b in self._equal)
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with unoptimized(not self.optimized):
            return self._function(*args, **kwargs)

    def _specs(self, call: Call) -> Call:
        """The call with a description in the place of each tensor."""
        count = -1

        def spec(shape: tuple[int, ...], dtype: Any) -> Any:
            import tensorflow as tf

            nonlocal count
            count += 1
            open_ = [
                None if (count, axis) in self.open else length
                for axis, length in enumerate(shape)
            ]
            return tf.TensorSpec(open_, dtype)

        args, kwargs = _with_specs(call, spec)
        return args, kwargs


def _with_specs(value: Any, spec: Callable[[tuple[int, ...], Any], Any]) -> Any:
    """In the order of `_note`."""
    import numpy as np
    import tensorflow as tf

    kind = type(value)
    if kind is tuple or kind is list:
        return kind(_with_specs(each, spec) for each in value)
    if kind is dict:
        return {name: _with_specs(each, spec) for name, each in value.items()}
    if isinstance(value, tf.Tensor) or kind is np.ndarray:
        return spec(tuple(value.shape), tf.as_dtype(value.dtype))
    return value


def _length(kind: Kind, place: tuple[int, int]) -> int:
    return kind.shapes[place[0]][place[1]]
