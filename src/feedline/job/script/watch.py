"""Watches a running script until one of its training loops is warm.

`hooks.py` tells it what TensorFlow and Keras are doing; it works out which
loops train, keeps a few times per step, and calls `on_warm(loop)` once. What
happens then is not its business. Its own cost is a handful of clock readings a
step.

This file has what all loops share; `python_loops.py` has the user's Python loops over a
dataset, `functions.py` those inside a `tf.function`, `fits.py` those of Keras.
"""

from __future__ import annotations

import contextlib
import os
import threading
import traceback
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from feedline.job.loops.loop import Clock, InputFailed
from feedline.job.loops.own_steps import StepMaker
from feedline.job.private import keras as keras_private
from feedline.job.script import updates
from feedline.job.script.fits import Fits
from feedline.job.script.functions import Functions
from feedline.job.script.python_loops import PythonLoops
from feedline.job.script.updates import Update
from feedline.job.source.frames import caller_of
from feedline.job.source.lines import package_of, where_of
from feedline.job.tfdata.pipeline import Where

# Where tensors and variables have their `numpy()`, `__float__` and the like.
_TENSORS = (
    os.path.join("framework", "ops.py"),
    os.path.join("ops", "resource_variable_ops.py"),
)


# So many steps of a loop are noted one by one. If it is not the loop to measure,
# the rest are only counted.
_ENOUGH = 64


class ScriptStopped(BaseException):
    """Unwinds the user's script once the verdict is known; its `finally` blocks
    and context managers run as after Ctrl-C."""


class Watch:
    def __init__(
        self,
        clock: Clock,
        on_warm: Callable[[Any], None],
        *,
        loop: int | None = None,
        patient: bool = True,
        steps: StepMaker | None = None,
    ) -> None:
        self.clock = clock
        self.on = True
        self.quiet = False  # the loop that runs is known; its steps are only counted
        self.on_warm = on_warm
        self.wanted = loop
        self.patient = patient
        self.steps = steps
        # What was seen: loops that train, loops that do not, training that no
        # dataset feeds, and what could not be watched.
        self.loops: list[Any] = []
        self.untrained: Counter[Where] = Counter()
        self.unfed: Counter[Where] = Counter()
        self.notes: list[str] = []
        self.broken = ""
        self.updates: list[Update] = []
        self.tables: weakref.WeakKeyDictionary[Any, Where | None] = (
            weakref.WeakKeyDictionary()
        )
        self.traced: list[tuple[str, float]] = []
        self.tracing_seconds = 0.0
        self.done = False
        self.stopped = False
        self.functions = Functions(self)
        self.fits = Fits(self)
        self.python_loops = PythonLoops(self)
        # For `feedline run`: called before the first and after the last step of a
        # fit, before each of its epochs, before and after each pass of its
        # validation, with what Keras reads it from, and after the first step of a
        # loop of the user's, and asked what such a loop should read instead.
        self.before_fit: Callable[[Any, Any], None] | None = None
        self.after_fit: Callable[[Any], None] | None = None
        self.epoch_begins: Callable[[Any], None] | None = None
        self.validation_begins: Callable[[Any, Any], None] | None = None
        self.validation_ends: Callable[[Any, Any], None] | None = None
        self.first_step: Callable[[Any], None] | None = None
        self.instead: Callable[[Any, Where | None], Any] | None = None
        # For `--live`: told of every batch and step of a loop of the user's.
        self.listener: Any = None
        self.read_already: weakref.WeakSet[Any] = weakref.WeakSet()
        # The user's loops that are being read, outermost first: validation may
        # stand inside of training. A step trains all of them.
        self.active: list[Any] = []
        self.began = False
        self.measured: Any = None
        self._trace_depth = 0
        self._thread = threading.get_ident()

    # ---------------------------------------------------------------- general

    @contextlib.contextmanager
    def pause(self) -> Iterator[None]:
        """What feedline itself does with TensorFlow is not the user's doing."""
        before, self.on = self.on, False
        try:
            yield
        finally:
            self.on = before

    def tell(self, method: Callable[..., Any], *args: Any) -> None:
        """Call a method of the watch. What fails in watching does not reach the
        user's script: it goes on unwatched."""
        try:
            method(*args)
        except Exception:
            self.on = False
            self.broken = traceback.format_exc()

    @property
    def is_tracing(self) -> bool:
        return self._trace_depth > 0

    @property
    def under_way(self) -> str | None:
        """What the script waits for right now, if it is a step or a batch."""
        if self.measured is not None and not self.stopped:
            return f"the training at {self.measured.where}"
        if self.fits.now is not None:
            return f"the training at {self.fits.now.where}"
        if self.python_loops.waiting is not None:
            return f"the loop over a dataset at {self.python_loops.waiting.where}"
        return "a tf.function" if self.functions.calling else None

    def follows(self) -> bool:
        """Is this the thread whose loops are watched? The first that trains is,
        and until then the main thread goes before others of the user's.
        TensorFlow's own threads run his generators, not his loops."""
        if threading.get_ident() == self._thread:
            return True
        thread = _known_thread()
        is_main = thread is threading.main_thread()
        if thread is None or self.loops:
            return False
        if self.active and not is_main:
            return False
        self._thread = threading.get_ident()
        return True

    def in_thread(self) -> bool:
        return threading.get_ident() == self._thread

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
                for loop in (*self.active, self.fits.now):
                    if self.on and loop is not None and loop.steps > 3:
                        loop.warm_traces += 1

    def value_read(self, frame: FrameType | None) -> None:
        """The host waits for a value. What TensorFlow and Keras read for
        themselves in an eager step is not the user's doing."""
        if not self.active or self._trace_depth or not self.in_thread():
            return
        while frame is not None and frame.f_code.co_filename.endswith(_TENSORS):
            frame = frame.f_back
        if frame is not None and not package_of(frame.f_code.co_filename):
            for loop in self.active:
                loop.syncs += 1

    def update_made(self, optimizer: Any, grads: Any, variables: Any) -> None:
        known = [each for each in self.updates if each.optimizer is not None]
        if any(each.optimizer is optimizer for each in known):
            return
        if variables is None:
            variables = list(keras_private.trainable_variables(optimizer))
        self.updates = [*known, updates.seen(optimizer, grads, variables)]

    def table_where(self, variable: Any) -> Where | None:
        """The line that made the embedding layer of this variable."""
        for layer, where in self.tables.items():
            if any(weight is variable for weight in layer.weights):
                return where
        return None

    def is_table(self, variable: Any) -> bool:
        """Is this the table of a Keras embedding layer?"""
        return any(
            weight is variable for layer in self.tables for weight in layer.weights
        )

    def gradient_taken(self, frame: FrameType) -> None:
        if self.functions.calling:
            self.functions.calling[-1].training = True
        elif self._trace_depth == 0 and self.fits.now is None:
            if not self.active:
                self.train_unfed(frame)
            elif self.in_thread() or _is_replica():
                for loop in self.active:
                    loop.eager = True
                    if loop.step_code is None:
                        loop.step_code = caller_of(frame, loop.body)
                    self.trains(loop)

    def rows_changed(self) -> None:
        """The function that is being traced adds to rows of a variable by itself."""
        if self.functions.calling:
            self.functions.calling[-1].training = True

    def trains(self, loop: Any) -> None:
        self.began = loop.trains_now = True

    def note_step(self, loop: Any, period: float, inside: float) -> None:
        """A step that trains has ended."""
        if not loop.training:
            loop.training = True
            self.loops.append(loop)
        loop.note_step(period, inside)
        enough = loop.steps > _ENOUGH * loop.steps_per_call and self.listener is None
        if enough and not self.chosen(loop):
            loop.idle = True

    def step_ended(self, loop: Any, now: float) -> bool:
        """A step of a compiled loop has ended, and the next one begins now. Was the
        job measured in between?"""
        self.note_step(loop, now - loop.opened, loop.inside_now)
        if loop.warm_at is None:
            loop.warm_at = now
        if not self.ready(loop, now):
            return False
        self.measure(loop)
        return True

    def train_unfed(self, frame: FrameType) -> None:
        """A step of a loop that no dataset feeds."""
        where = where_of(frame)
        if where is not None:
            self.unfed[where] += 1

    def chosen(self, loop: Any) -> bool:
        """Is this the loop to measure?"""
        if self.done:
            return False
        if self.wanted is not None:
            return len(self.loops) >= self.wanted and (
                self.loops[self.wanted - 1] is loop
            )
        return True

    def ready(self, loop: Any, now: float) -> bool:
        if not loop.trains_now or not self.chosen(loop):
            return False
        if not self.patient and loop.steps >= 3:
            return True
        return bool(loop.warm(now))

    def measure(self, loop: Any) -> None:
        self.done = True
        self.measured = loop
        loop.tracing_seconds = lambda: self.tracing_seconds
        loop.traced_before = self.tracing_seconds
        if loop.live is not None:
            first = loop.first_step_seconds - loop.first_step_tracing
            loop.live.start_guess = max(0.0, first)
        with self.pause():
            loop.keep_to_its_passes()
            try:
                self.on_warm(loop)
            except InputFailed as failure:
                self.measured = None
                raise failure.error from None

    def is_to_blame(self, error: BaseException) -> bool:
        """Did the script fail because of what we did with it: stopped it, or fed
        its step with batches of another size?"""
        loop = self.measured
        if loop is None:
            return False
        return bool(loop.fed_by_us) or (self.stopped and _came_of_stopping(error))


def _is_replica() -> bool:
    """A strategy runs the step of each replica in a thread of its own."""
    return type(_known_thread()).__name__ == "_MirroredReplicaThread"


def _known_thread() -> threading.Thread | None:
    """This thread, if Python has made it. (To ask Python itself would enter a stand-in
    for TensorFlow's threads into the list that the script may look at.)"""
    active: dict[int, threading.Thread] = threading._active  # type: ignore[attr-defined]
    thread = active.get(threading.get_ident())
    return None if isinstance(thread, threading._DummyThread) else thread


def _came_of_stopping(error: BaseException | None) -> bool:
    """Did stopping the script make its own clean-up fail?"""
    while error is not None:
        if isinstance(error, ScriptStopped):
            return True
        error = error.__cause__ or error.__context__
    return False
