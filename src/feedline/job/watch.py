"""Watches a running script until one of its training loops is warm.

`hooks.py` tells it what TensorFlow and Keras are doing; it works out which
loops train, keeps a few times per step, and calls `on_warm(loop)` once. What
happens then is not its business. Its own cost is a handful of clock readings a
step.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from feedline.job.loop import Clock, LoopEnded
from feedline.job.pipeline import Where
from feedline.job.source import epochs_around, is_library, package_of, where_of


class ScriptStopped(BaseException):
    """Unwinds the user's script once the verdict is known; its `finally` blocks
    and context managers run as after Ctrl-C."""


@dataclass
class _FunctionNote:
    """What is known of one `tf.function`."""

    training: bool = False
    loops_over: list[Any] = field(default_factory=list)
    loop: Any = None
    calls: int = 0


@dataclass
class Update:
    """An optimizer and the variables it updates. `sparse` are the indices of
    those whose gradient names only some rows."""

    optimizer: Any
    variables: list[Any]
    sparse: dict[int, Any]


class Watch:
    def __init__(
        self,
        clock: Clock,
        on_warm: Callable[[Any], None],
        *,
        loop: int | None = None,
        patient: bool = True,
    ) -> None:
        self.clock = clock
        self.on = True
        self.on_warm = on_warm
        self.wanted = loop
        self.patient = patient
        self.loops: list[Any] = []
        self.untrained: dict[Where, int] = {}
        self.updates: dict[int, Update] = {}
        self.tables: weakref.WeakKeyDictionary[Any, Where | None] = (
            weakref.WeakKeyDictionary()
        )
        self.fitting: Any = None
        self.traced: list[tuple[str, float]] = []
        self.tracing_seconds = 0.0
        self.done = False
        self.stopped = False
        self._trace_depth = 0
        self._current: Any = None
        self._candidates: dict[Any, Any] = {}
        self._functions: weakref.WeakKeyDictionary[Any, _FunctionNote] = (
            weakref.WeakKeyDictionary()
        )
        self._calling: list[_FunctionNote] = []
        self._swap: tuple[Any, Any] | None = None

    # ---------------------------------------------------------------- general

    @contextlib.contextmanager
    def pause(self) -> Iterator[None]:
        """What feedline itself does with TensorFlow is not the user's doing."""
        before, self.on = self.on, False
        try:
            yield
        finally:
            self.on = before

    @property
    def is_tracing(self) -> bool:
        return self._trace_depth > 0

    @contextlib.contextmanager
    def tracing(self, name: str) -> Iterator[None]:
        self._trace_depth += 1
        begin = self.clock.now()
        try:
            yield
        finally:
            self._trace_depth -= 1
            if self._trace_depth == 0:
                seconds = self.clock.now() - begin
                self.tracing_seconds += seconds
                self.traced.append((name, seconds))
                loop = self._current or self.fitting
                if self.on and loop is not None and loop.steps > 3:
                    loop.warm_traces += 1

    def outside(self) -> bool:
        """Are we in plain Python: not tracing, not inside Keras' fit, not in a
        function that is being called already?"""
        return self._trace_depth == 0 and self.fitting is None and not self._calling

    def value_read(self) -> None:
        if self._current is not None and self._trace_depth == 0:
            self._current.syncs += 1

    def update_made(self, optimizer: Any, grads: Any, variables: Any) -> None:
        if id(optimizer) in self.updates:
            return
        chosen = variables if variables is not None else optimizer._trainable_variables
        chosen = list(chosen)
        sparse = {
            position: grad
            for position, grad in enumerate(grads)
            if type(grad).__name__ == "IndexedSlices"
        }
        self.updates[id(optimizer)] = Update(optimizer, chosen, sparse)

    def table_where(self, variable: Any) -> Where | None:
        """The line that made the embedding layer of this variable."""
        for layer, where in self.tables.items():
            if any(weight is variable for weight in layer.weights):
                return where
        return None

    def gradient_taken(self) -> None:
        if self._calling:
            self._calling[-1].training = True
        elif self._current is not None and self._trace_depth == 0:
            self._current.eager = True
            self._trains(self._current)

    def _trains(self, loop: Any) -> None:
        if not loop.training:
            loop.training = True
            self.loops.append(loop)

    def _chosen(self, loop: Any) -> bool:
        """Is this the loop to measure?"""
        if self.done:
            return False
        if self.wanted is not None:
            order = [known for known in self.loops if known.training]
            return len(order) >= self.wanted and order[self.wanted - 1] is loop
        return True

    def _ready(self, loop: Any, now: float) -> bool:
        if not self._chosen(loop):
            return False
        if not self.patient and loop.training and loop.steps >= 3:
            return True
        return bool(loop.warm(now))

    def _measure(self, loop: Any) -> None:
        self.done = True
        loop.tracing_seconds = lambda: self.tracing_seconds
        loop.traced_before = self.tracing_seconds
        self.on_warm(loop)

    # ----------------------------------------------------- a Python loop of the user's

    def iterator_made(
        self,
        iterator: Any,
        dataset: Any,
        raw: Callable[[], Any],
        frame: FrameType | None,
    ) -> None:
        iterator._feedline_raw = raw
        if self._trace_depth or self.fitting is not None or not _by_user(frame):
            return
        from feedline.job.feeds import Live
        from feedline.job.loops import PythonLoop

        where = where_of(frame)
        loop = self._candidates.get(where)
        if loop is None or loop.measuring:
            loop = self._candidates[where] = PythonLoop(where, self.clock)
            loop.epochs = epochs_around(frame)
        loop.dataset = dataset
        loop.source = getattr(dataset, "_original_dataset", dataset)
        loop.strategy = getattr(dataset, "_strategy", None)
        loop.live = Live(dataset, iterator, self.clock, renewable=True)
        loop.opened = None
        iterator._feedline_loop = loop

    def next_batch(self, iterator: Any, original: Callable[[], Any]) -> Any:
        loop = iterator._feedline_loop
        if self.stopped:
            raise ScriptStopped
        if self._trace_depth or self._calling:
            return original()
        now = self.clock.now()
        if not loop.measuring:
            self._step_ended(loop, now)
            if self._ready(loop, now):
                with self.pause():
                    self._measure(loop)
        if loop.measuring:
            self._current = loop
            with self.pause():
                try:
                    return loop.next_batch()
                except LoopEnded:
                    pass
        try:
            batch = original()
        except BaseException:
            self._current = None
            loop.opened = None
            raise
        if loop.began is None:
            loop.began = now
        self._current = loop
        loop.opened = now
        loop.fetched = self.clock.now() - now
        loop.inside_now = 0.0
        return batch

    def _step_ended(self, loop: Any, now: float) -> None:
        """The body of the step before has run."""
        if loop.opened is None:
            return
        period = now - loop.opened
        if not loop.training and loop.where is not None:
            self.untrained[loop.where] = self.untrained.get(loop.where, 0) + 1
            return
        inside = loop.inside_now + loop.fetched if loop.inside_now else period
        loop.note_step(period, inside)
        if loop.steps == 1:
            loop.first_step_seconds = period
            loop.first_step_tracing = min(period, self.tracing_seconds)
        if loop.steps == 2:
            loop.warm_at = now

    # ------------------------------------------------------------------ tf.function

    def loop_traced(self, dataset: Any) -> Any:
        """A loop over a dataset is being traced into a function."""
        if self._swap is not None and dataset is self._swap[0]:
            return self._swap[1]
        if self.on and self._calling:
            self._calling[-1].loops_over.append(dataset)
        return dataset

    def function_called(
        self, function: Any, original: Any, args: Any, kwargs: Any
    ) -> Any:
        note = self._functions.get(function)
        if note is None:
            note = self._functions[function] = _FunctionNote()
            self._foresee(function, note, args, kwargs)
        loop = note.loop
        if loop is not None and loop.kind == "function" and self._chosen(loop):
            with self.pause():
                self._measure(loop)
        position = _iterator_position(args)
        if position is not None and note.training:
            return self._iterator_call(function, original, args, kwargs, note, position)
        self._calling.append(note)
        begin = self.clock.now()
        try:
            return original(function, *args, **kwargs)
        finally:
            self._calling.pop()
            note.calls += 1
            loop = self._current
            if loop is not None and note.training:
                loop.inside_now += self.clock.now() - begin
                loop.step_function = function
                loop.eager = False
                self._trains(loop)

    def _foresee(self, function: Any, note: _FunctionNote, args: Any, kw: Any) -> None:
        """A function that loops over a whole dataset must be known before it
        runs: trace it first. The call that follows finds the trace."""
        if not _sees_dataset(function, args, kw):
            return
        self._calling.append(note)
        try:
            function.get_concrete_function(*args, **kw)
        except Exception:  # the call itself will show the user's own error
            return
        finally:
            self._calling.pop()
        if note.training and note.loops_over:
            self._function_loop(function, note, args, kw)

    def _function_loop(
        self, function: Any, note: _FunctionNote, args: Any, kw: Any
    ) -> None:
        import tensorflow as tf

        from feedline.job.feeds import Live
        from feedline.job.loops import FunctionLoop
        from feedline.job.source import line_of

        python = function.python_function
        code = getattr(python, "__code__", None)
        where = line_of(code.co_filename, code.co_firstlineno) if code else None
        given = [
            position
            for position, value in enumerate(args)
            if isinstance(value, tf.data.Dataset)
        ]
        if given:
            first = given[0]
            dataset = args[first]

            def call(part: Any) -> Any:
                return function(*args[:first], part, *args[first + 1 :], **kw)

        else:
            dataset = note.loops_over[0]

            @tf.function
            def again(part: Any) -> Any:
                self._swap = (dataset, part)
                try:
                    return tf.autograph.to_graph(python)(*args, **kw)
                finally:
                    self._swap = None

            call = again
        loop = note.loop = FunctionLoop(where, self.clock, call, dataset)
        loop.source = dataset
        loop.live = Live(dataset, iter(()), self.clock, renewable=True)
        loop.step_function = function
        loop.steps_per_epoch = _count(dataset)
        loop.began = self.clock.now()
        self._trains(loop)

    def _iterator_call(
        self,
        function: Any,
        original: Any,
        args: Any,
        kwargs: Any,
        note: _FunctionNote,
        position: int,
    ) -> Any:
        """A step that is handed the iterator and takes its batch itself."""
        from feedline.job.feeds import Live
        from feedline.job.loops import CallLoop
        from feedline.job.source import here

        iterator = args[position]
        loop = note.loop
        if loop is None:

            def call(other: Any) -> Any:
                changed = (*args[:position], other, *args[position + 1 :])
                return original(function, *changed, **kwargs)

            loop = note.loop = CallLoop("iterator", where_of(here()), self.clock, call)
            loop.step_function = function
            loop.began = loop.opened = self.clock.now()
            self._trains(loop)
        made_by = getattr(iterator, "_feedline_loop", None)
        if loop.live is None or loop.live.iterator is not iterator:
            dataset = (
                made_by.dataset if made_by else getattr(iterator, "_dataset", None)
            )
            loop.dataset = dataset
            loop.source = getattr(dataset, "_original_dataset", dataset)
            loop.strategy = getattr(dataset, "_strategy", None)
            loop.live = Live(
                dataset, iterator, self.clock, renewable=dataset is not None
            )
        now = self.clock.now()
        if note.calls and loop.opened is not None:
            loop.note_step(now - loop.opened, loop.inside_now)
            if loop.warm_at is None:
                loop.warm_at = now
            if self._ready(loop, now):
                with self.pause():
                    self._measure(loop)
        loop.opened = self.clock.now()
        self._calling.append(note)
        try:
            return original(function, *args, **kwargs)
        finally:
            self._calling.pop()
            note.calls += 1
            loop.inside_now = self.clock.now() - loop.opened

    # ------------------------------------------------------------------------- fit

    @contextlib.contextmanager
    def fit_called(self, model: Any, bound: Any, frame: FrameType) -> Iterator[None]:
        """`bound` are fit's arguments; a callback of ours joins the user's."""
        from feedline.job.loops import CallLoop

        loop = CallLoop("fit", where_of(frame), self.clock, model.fit)
        loop.model = model
        initial = bound.arguments.get("initial_epoch", 0)
        loop.epochs = bound.arguments.get("epochs", 1) - initial
        loop.began = self.clock.now()
        self.fitting = loop
        self._trains(loop)
        bound.arguments["callbacks"] = self._joined(
            bound.arguments.get("callbacks"), model, loop
        )
        try:
            yield
        finally:
            self.fitting = None
            if getattr(model.train_function, "_feedline_original", None) is not None:
                model.train_function = model.train_function._feedline_original

    def _joined(self, callbacks: Any, model: Any, loop: Any) -> Any:
        import keras

        watch = self

        class FeedlineWatch(keras.callbacks.Callback):  # type: ignore[misc]
            """Has no batch hooks, so that Keras keeps its fast path."""

            def on_train_begin(self, logs: Any = None) -> None:  # noqa: ARG002
                loop.steps_per_call = int(getattr(model, "steps_per_execution", 1))
                loop.eager = bool(getattr(model, "run_eagerly", False))
                strategy = getattr(model, "distribute_strategy", None)
                if strategy is not None and strategy.num_replicas_in_sync >= 1:
                    name = type(strategy).__name__
                    loop.strategy = (
                        None if name == "_DefaultDistributionStrategy" else strategy
                    )
                model.train_function = watch._watched(loop, model.train_function)

        ours = FeedlineWatch()
        if callbacks is None:
            return [ours]
        if isinstance(callbacks, keras.callbacks.CallbackList):
            loop.callbacks = _names(callbacks.callbacks)
            callbacks.append(ours)
            return callbacks
        given = list(callbacks) if isinstance(callbacks, list | tuple) else [callbacks]
        loop.callbacks = _names(given)
        return [*given, ours]

    def fit_data_made(self, epoch_iterator: Any) -> None:
        loop = self.fitting
        if loop is None or loop.dataset is not None:
            return
        dataset = epoch_iterator._distributed_dataset
        loop.dataset = dataset
        loop.source = getattr(dataset, "_original_dataset", dataset)
        loop.adapter = type(epoch_iterator.data_adapter).__name__
        batches = epoch_iterator.num_batches
        loop.steps_per_epoch = int(batches) if batches is not None else None

    def _watched(self, loop: Any, train: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Keras' train function, with a clock around it."""
        from feedline.job.feeds import Live

        loop.call = train
        loop.opened = None
        last: Any = None

        def step(iterator: Any) -> Any:
            nonlocal last
            now = self.clock.now()
            if self.stopped:
                raise ScriptStopped
            if self.done or not self.on:
                return train(iterator)
            if iterator is last and loop.opened is not None:
                loop.note_step(now - loop.opened, loop.inside_now)
                if loop.warm_at is None:
                    loop.warm_at = now
                if self._ready(loop, now):
                    with self.pause():
                        self._measure(loop)
            elif iterator is not last:
                once = loop.adapter == "GeneratorDataAdapter"
                loop.live = Live(loop.dataset, iterator, self.clock, renewable=not once)
                last = iterator
            loop.opened = self.clock.now()
            traced = self.tracing_seconds
            result = train(iterator)
            loop.inside_now = self.clock.now() - loop.opened
            if loop.first_step_seconds == 0.0:
                loop.first_step_seconds = loop.inside_now
                loop.first_step_tracing = self.tracing_seconds - traced
            return result

        step._feedline_original = train  # type: ignore[attr-defined]
        return step


def _by_user(frame: FrameType | None) -> bool:
    """Did the user's code (or a helper such as tqdm) ask for this iterator, and
    not Keras' or a strategy's own machinery?"""
    while frame is not None:
        name = frame.f_code.co_filename
        if not is_library(name):
            return True
        package = package_of(name)
        if package in ("keras", "tf_keras") or "distribute" in name:
            return False
        if package != "tensorflow" and "feedline" not in name:
            return True
        frame = frame.f_back
    return False


def _iterator_position(args: Any) -> int | None:
    for position, value in enumerate(args):
        if hasattr(value, "_feedline_raw"):
            return position
    return None


def _sees_dataset(function: Any, args: Any, kwargs: Any) -> bool:
    """Could this function loop over a dataset: one that it is given, or that it
    closes over, or that its object holds?"""
    seen = [*args, *kwargs.values()]
    python = getattr(function, "python_function", None)
    owner = getattr(python, "__self__", None)
    if owner is not None:
        seen += list(getattr(owner, "__dict__", {}).values())
    code = getattr(python, "__code__", None)
    if code is not None:
        names = getattr(python, "__globals__", {})
        seen += [names[name] for name in code.co_names if name in names]
        for cell in getattr(python, "__closure__", None) or ():
            with contextlib.suppress(ValueError):
                seen.append(cell.cell_contents)
    return any(hasattr(value, "_variant_tensor_attr") for value in seen)


def _count(dataset: Any) -> int | None:
    try:
        number = int(dataset.cardinality())
    except Exception:
        return None
    return number if number >= 0 else None


def _names(callbacks: Any) -> tuple[str, ...]:
    return tuple(type(callback).__name__ for callback in callbacks)
