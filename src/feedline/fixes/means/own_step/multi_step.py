"""Several steps of a loop in one launch (`step_only_loop.py` says of which loops).

The loop asks for its next batch; all but the last of some steps are made before it
gets one, in one graph that takes their batches from the loop's own iterator. Python
sees the last batch of each launch, and always that of the data: its step is the
script's own, so that all names hold what they would hold.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from feedline.fixes.means.own_step.graph_step import OwnStep, unoptimized
from feedline.fixes.means.own_step.inline_step import InlineStep
from feedline.fixes.means.own_step.step_only_loop import StepOnlyLoop
from feedline.job import marks
from feedline.job.loops.loop import CannotRun
from feedline.job.source.frames import caught
from feedline.job.source.graph_safe import dependencies_of
from feedline.job.tfdata.functions import draws

log = logging.getLogger(__name__)

_MOST_TRACES = 4
_AHEAD = marks.AHEAD


class MultiStep:
    """`number` steps at a time. `own` is the step where Python runs it: in a launch
    it is its graph. `ran` counts the steps that Python did not see."""

    def __init__(
        self, bare: StepOnlyLoop, number: int, own: OwnStep | None = None
    ) -> None:
        if not bare.direct:
            raise CannotRun("the loop does not read a dataset itself")
        self.number = number
        self.ran = 0
        self.broken = ""
        self.tell: Callable[[str], None] = lambda _: None
        self._bare = bare
        self.body = bare.body
        self._own = own
        self._held = dependencies_of(self.body)
        for held in self._held:
            if held.there is bare.around and held.name in bare.changing:
                raise CannotRun(f"a function reads {held.name}, which the loop sets")
        if isinstance(own, InlineStep) and bare.with_step is not None:
            self.body = bare.with_step(own)
        self._traced: dict[Any, Any] = {}

    def next(self, iterator: Any, read: Callable[[Any], Any] = next) -> Any:
        """The batch for the next step that Python runs; `read` is how the loop reads
        by itself."""
        ahead = vars(iterator).pop(_AHEAD, None)
        if ahead is None:
            if self.broken:
                return read(iterator)
            ahead = iterator.get_next_as_optional()
        if not ahead.has_value():
            raise StopIteration
        first = ahead.get_value()
        launch = self._launch_for(iterator, first)
        if launch is None:
            return first
        with unoptimized(self._own is not None):
            ran, batch, ahead = launch(iterator, first)
        vars(iterator)[_AHEAD] = ahead
        self.ran += int(ran)
        return batch

    def one(self, batch: Any, *, plain: bool = False) -> None:
        """The step of this batch as the loop runs it by itself; `plain` as it was
        before anything was done to it."""
        own = self._own
        if own is None or not plain:
            self.body(*self._bare.arguments(batch))
            return
        before, own.on = own.on, False
        try:
            self.body(*self._bare.arguments(batch))
        finally:
            own.on = before

    def prepare(self, iterator: Any, batch: Any) -> None:
        """Make the graph for such batches; raises `CannotRun` where there is none."""
        if self._launch_for(iterator, batch) is None:
            raise CannotRun(self.broken)

    def variables(self) -> list[Any]:
        """All that the launches read or change."""
        found: dict[int, Any] = {}
        for concrete in self._traced.values():
            for variable in concrete.graph.variables:
                found[id(variable)] = variable
        return list(found.values())

    def _launch_for(self, iterator: Any, first: Any) -> Any:
        """The graph for such batches; None where steps go one by one."""
        if self.broken:
            return None
        try:
            if not self._bare.direct:
                raise CannotRun("the loop does not read a dataset itself any more")
            if not self._bare.unchanged():
                raise CannotRun("the loop is run again, with other things")
            for held in self._held:
                if not held.is_same():
                    raise CannotRun(f"the script has changed {held.said}")
            if caught(sys._getframe(1)):
                return None
            kind = _kind_of(first)
            if kind not in self._traced:
                self._traced[kind] = self._trace(iterator, first)
            return self._traced[kind]
        except CannotRun as refusal:
            self._give_up(str(refusal))
        except Exception as error:  # what cannot be traced runs as it is
            log.info("the steps cannot go together", exc_info=True)
            self._give_up(f"{type(error).__name__}: {error}".partition("\n")[0])
        return None

    def _give_up(self, why: str) -> None:
        self.broken = why
        self.tell(why)

    def _trace(self, iterator: Any, first: Any) -> Any:
        if len(self._traced) >= _MOST_TRACES:
            raise CannotRun("the shapes of its batches keep changing")
        launch = tf.function(self._steps, autograph=False)
        if self._own is None:
            made = launch.get_concrete_function(iterator, first)
        else:
            with self._own.as_part():
                made = launch.get_concrete_function(iterator, first)
        if draws(made.graph):
            raise CannotRun("it draws random numbers, which a graph draws differently")
        return made

    def _steps(self, iterator: Any, first: Any) -> Any:
        """Steps as long as there is a batch behind, and they are of one shape."""
        spec = iterator.element_spec
        shapes = tf.nest.map_structure(lambda part: part.shape, first)

        def another(made: Any, batch: Any, ahead: Any) -> Any:
            parts = zip(*map(tf.nest.flatten, (batch, first, spec)), strict=True)
            same = [
                tf.reduce_all(tf.equal(tf.shape(part), tf.shape(model)))
                for part, model, known in parts
                if not known.shape.is_fully_defined()
            ]
            return tf.reduce_all([made < self.number - 1, ahead.has_value(), *same])

        def step(made: Any, batch: Any, ahead: Any) -> Any:
            batch = tf.nest.map_structure(_of_shape, batch, shapes)
            self.body(*self._bare.arguments(batch))
            return made + 1, ahead.get_value(), iterator.get_next_as_optional()

        start = (tf.constant(0), first, iterator.get_next_as_optional())
        free = tf.nest.map_structure(lambda part: part.shape, spec)
        return tf.while_loop(
            another,
            step,
            start,
            shape_invariants=(tf.TensorShape([]), free, tf.OptionalSpec(spec)),
            parallel_iterations=1,
        )


def _of_shape(part: Any, shape: Any) -> Any:
    """Known to have it. Not `tf.ensure_shape`: TensorFlow moves that out of the loop,
    where it sees the batch that ends it."""
    part = tf.identity(part)
    part.set_shape(shape)
    return part


def _kind_of(batch: Any) -> tuple[Any, ...]:
    parts = tf.nest.flatten(batch)
    if not all(isinstance(part, tf.Tensor) for part in parts):
        raise CannotRun("its batches are ragged or sparse")
    return tuple((part.dtype, tuple(part.shape)) for part in parts)
