"""A step that stands in a loop itself, run as a graph where that is the same.

The loop has a switch in front of the step (`hoist.py`). While it is on, what the step
reads is taken from the loop's own frame; the graph computes what the step would leave;
and the loop goes on with it. Tensors come from the graph. Other things that are left,
numbers and variables, are what they were when the graph was made: `Dependency` sees to
it that they would be the same again. A tape is nothing that a graph could give back,
and nobody may use it any more: a new one takes its place.
"""

from __future__ import annotations

import sys
import threading
import types
from typing import Any

from feedline.fixes.means.own_step.graph_step import OwnStep, kind_of
from feedline.fixes.means.own_step.hoist import Inline
from feedline.job.loops.loop import CannotRun
from feedline.job.source.graph_safe import is_keras_variable

_CONSTANT = (bool, int, float, complex, str, bytes, type(None))


class InlineStep(OwnStep):
    """Like an `OwnStep` whose function is the part of the loop. What its graph
    returns, by names, is what the part leaves in tensors."""

    def __init__(self, found: Inline, frame: types.FrameType) -> None:
        try:
            self._captured = found.captured(frame)
        except LookupError as error:
            raise CannotRun(f"the step uses names that are not set: {error}") from None
        self.found = found
        self.function = found.extracted.function(frame.f_globals, self._captured)
        self._constants: dict[Any, dict[str, Any]] = {}
        self._last: dict[str, Any] | None = None
        self._thread = threading.get_ident()
        self._states = {"on": False, "recording": False}
        self._begin(self._in_tensors)

    @property
    def on(self) -> bool:
        return self._states["on"]

    @on.setter
    def on(self, value: bool) -> None:
        self._set("on", value)

    @property
    def recording(self) -> bool:
        return self._states["recording"]

    @recording.setter
    def recording(self, value: bool) -> None:
        self._set("recording", value)

    def _set(self, name: str, value: bool) -> None:
        self._states[name] = value
        used = any(self._states.values())
        self.found.switch.lead(self._take if used else None)

    def remove(self) -> None:
        """The loop runs as it stands, for good."""
        self.found.switch.lead(None)

    def _take(self, frame: types.FrameType) -> tuple[Any, ...] | None:
        """What the part would leave for the script; None to have it run."""
        if threading.get_ident() != self._thread:
            return None
        args = self.found.arguments(frame, self._captured)
        if args is None:
            if self.on and not self.broken:
                self._give_up("the loop is run again, with other things")
            return None
        self.note((args, {}))
        computed = self.computed(args, {}, frame)
        if computed is None:
            return None
        return self.found.leave(frame, self._all_left(args, computed[0]))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """As a part of another function: the names that the script has from it."""
        if self._part:
            left = (self._fused_function if self.fused else self.graph_function)(
                *args, **kwargs
            )
            left = self._all_left(args, left)
        elif (found := self.computed(args, kwargs, sys._getframe(1))) is not None:
            left = self._all_left(args, found[0])
        else:
            left = self.function(*args, **kwargs)
        return tuple(left[name] for name in self.found.given)

    def _all_left(self, args: tuple[Any, ...], tensors: Any) -> dict[str, Any]:
        import tensorflow as tf

        tapes = {n: tf.GradientTape() for n in self.found.tapes if n in self.found.left}
        return {**self._constants.get(kind_of(args, {}), {}), **tensors, **tapes}

    def trace(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._last = None
        super().trace(args, kwargs)
        left: dict[str, Any] | None = self._last
        if left is None:
            raise CannotRun("its graph was made before")
        self._constants[kind_of(args, kwargs)] = left

    def _in_tensors(self, *args: Any) -> dict[str, Any]:
        """What the part leaves in tensors; what else it leaves is noted."""
        left = self.function(*args)
        wanted = {*self.found.given, *self.found.left} - self.found.tapes
        tensors: dict[str, Any] = {}
        constants: dict[str, Any] = {}
        for name in sorted(wanted & left.keys()):
            kind = _kind_of_value(left[name])
            if kind is None:
                what = type(left[name]).__name__
                raise CannotRun(f"{name} holds a {what}, which a graph cannot return")
            (tensors if kind == "tensors" else constants)[name] = left[name]
        self._last = constants
        return tensors

    @property
    def looked_at(self) -> Any:
        """The function whose source says what the step does."""
        return self.function


def _kind_of_value(value: Any) -> str | None:
    """`tensors`, `constant`, or None for anything else."""
    import tensorflow as tf

    if value is None or isinstance(value, tf.Variable) or is_keras_variable(value):
        return "constant"
    leaves = tf.nest.flatten(value)
    if leaves and all(type(each) in _CONSTANT for each in leaves):
        return "constant" if leaves == [value] else None
    values = tf.Tensor | tf.RaggedTensor | tf.SparseTensor | tf.IndexedSlices
    if leaves and all(each is None or isinstance(each, values) for each in leaves):
        return "tensors"
    return None
