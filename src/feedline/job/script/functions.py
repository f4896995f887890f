"""What the watch knows of the script's `tf.function`s: which of them train, and
those that are loops themselves.

A function may be one step of the user's loop; it may loop over a whole dataset,
which must be found out before it runs; or it may be handed an iterator and take
its batch itself.
"""

from __future__ import annotations

import contextlib
import inspect
import math
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

from feedline.job import marks
from feedline.job.private import tensorflow as tf_private
from feedline.job.source.lines import is_library, line_of, rounds_around, where_of
from feedline.job.tfdata.pipeline import Where

if TYPE_CHECKING:
    from feedline.job.script.watch import Watch

_SHORTEST = 4


@dataclass
class Note:
    """What is known of one function. `given` is the place of the iterator among its
    arguments, `over` that of the dataset that it loops over."""

    training: bool = False
    loops_over: list[tuple[Any, Where | None]] = field(default_factory=list)
    over: int | None = None
    given: int | None = None
    loop: Any = None
    calls: int = 0
    variants: dict[tuple[bool, ...], Note] = field(default_factory=dict)


class Leader(Protocol):
    """Decides how a `tf.function` that trains is called. `original` is TensorFlow's
    own call of any function."""

    def leads(self, function: Any) -> bool:
        """Is it to be asked about this one, however quiet the watch is?"""

    def first(
        self,
        function: Any,
        original: Any,
        args: Any,
        kwargs: Any,
        frame: FrameType,
        seconds: float,
    ) -> None:
        """The first call of a function has shown that it trains."""

    def call(
        self, function: Any, original: Any, args: Any, kwargs: Any, frame: FrameType
    ) -> Any:
        """What the function returns."""


class Functions:
    def __init__(self, watch: Watch) -> None:
        self.calling: list[Note] = []
        self.leader: Leader | None = None
        self._watch = watch
        self._swap: tuple[Any, Any] | None = None
        self._notes: weakref.WeakKeyDictionary[Any, Note] = weakref.WeakKeyDictionary()

    def listens(self) -> bool:
        """Is this a call from plain Python: not while tracing, not inside Keras'
        fit, not in a function that is being called already, not from a generator
        that feeds the job?"""
        watch = self._watch
        return not (
            self.calling or watch.is_tracing or watch.fits.now is not None
        ) and (watch.follows())

    def called(
        self, function: Any, original: Any, args: Any, kwargs: Any, frame: FrameType
    ) -> Any:
        watch = self._watch
        note = self._note(function, args, kwargs, frame)
        if note.loop is not None:
            if note.given is not None:
                return self._given(function, original, args, kwargs, note)
            if watch.chosen(note.loop):
                self._measure_inside(function, note, args, kwargs)
        self.calling.append(note)
        begin = watch.clock.now()
        leads = note.training and note.loop is None and note.given is None
        try:
            if self.leader is not None and leads:
                return self.leader.call(function, original, args, kwargs, frame)
            return original(function, *args, **kwargs)
        finally:
            self.calling.pop()
            note.calls += 1
            if note.loop is not None:
                note.loop.rest()
            if note.given is None:
                for loop in watch.active:
                    loop.inside_now += watch.clock.now() - begin
            if note.training:
                watch.tell(self._stepped, function, note, args, kwargs, frame)
            if note.calls == 1 and note.training and self.leader is not None:
                seconds, first = watch.clock.now() - begin, self.leader.first
                watch.tell(first, function, original, args, kwargs, frame, seconds)

    def led(self, function: Any) -> bool:
        """While its loop need not be noted any more: is somebody else to call it?"""
        leader = self.leader
        return leader is not None and leader.leads(function) and self.listens()

    def _note(self, function: Any, args: Any, kwargs: Any, frame: FrameType) -> Note:
        note = self._notes.get(function)
        if note is None:
            note = self._notes[function] = Note(given=_iterator_among(args))
            self._watch.tell(self._foresee, function, note, args, kwargs, frame)
        flags = [v for v in args if v is True or v is False]
        if kwargs:
            flags += [v for v in kwargs.values() if v is True or v is False]
        if not flags:
            return note
        # `step(x, y, training=False)` is traced apart, and does not train.
        key = tuple(flags)
        if key not in note.variants:
            first = not note.variants
            note.variants[key] = note if first else Note(given=note.given)
        return note.variants[key]

    def _stepped(
        self,
        function: Any,
        note: Note,
        args: Any,
        kwargs: Any,
        frame: FrameType,
    ) -> None:
        """A function that trains was called."""
        watch = self._watch
        if note.given is not None:
            self._start_given(function, note, args, frame)
            return
        for loop in watch.active:
            loop.step_function = function
            loop.last_call = None if watch.done or loop.resting else (args, kwargs)
            loop.eager = False
            watch.trains(loop)
        if not watch.active and note.loop is None:
            watch.train_unfed(frame)

    # --------------------------------------------------- a loop inside a function

    def loop_traced(self, dataset: Any) -> Any:
        """A loop over a dataset is being traced into a function."""
        if self._swap is not None and dataset is self._swap[0]:
            return self._swap[1]
        if self._watch.on and self._watch.instead is not None:
            dataset = self._watch.instead(dataset, _line_being_traced())
        if self._watch.on and self.calling:
            self.calling[-1].loops_over.append((dataset, _line_being_traced()))
        return dataset

    def _foresee(
        self, function: Any, note: Note, args: Any, kw: Any, frame: FrameType
    ) -> None:
        """A function that loops over a whole dataset must be known before it
        runs: trace it first. The call that follows finds the trace."""
        if not _sees_dataset(function, args, kw):
            return
        self.calling.append(note)
        try:
            function.get_concrete_function(*args, **kw)
        except Exception:  # the call itself will show the user's own error
            return
        finally:
            self.calling.pop()
        if note.training and note.loops_over:
            self._start_inside(function, note, args, frame)

    def _start_inside(
        self, function: Any, note: Note, args: Any, frame: FrameType
    ) -> None:
        import tensorflow as tf

        from feedline.job.loops.function import FunctionLoop

        (dataset, where), *_ = note.loops_over
        note.loops_over = []
        given = (place for place, value in enumerate(args) if _is_dataset(value))
        note.over = next(given, None)
        if note.over is not None:
            dataset = args[note.over]
        elif tf.is_symbolic_tensor(tf_private.variant_tensor.get(dataset)):
            self._watch.notes.append(
                f"training inside a tf.function at {where}, over a dataset that is "
                "made in that function: make it outside, so that it can be measured"
            )
            return
        steps = _count(dataset)
        if steps is not None and steps < _SHORTEST:
            self._watch.notes.append(
                f"training inside a tf.function at {where}, {steps} step(s): too short "
                "to measure"
            )
            return
        loop = FunctionLoop(where, self._watch.clock)
        loop.reads(dataset, iter(()))
        if not loop.rereadable():
            self._watch.notes.append(
                f"training inside a tf.function at {where}, over a dataset that may "
                "be read only once"
            )
            return
        note.loop = loop
        loop.step_function = function
        loop.steps_per_epoch = steps
        loop.epochs = (1, *rounds_around(frame))[-1]
        loop.began = self._watch.clock.now()
        self._watch.trains(loop)
        loop.training = True
        self._watch.loops.append(loop)

    def _measure_inside(self, function: Any, note: Note, args: Any, kw: Any) -> None:
        """Just before a call that goes over its dataset once more."""
        loop, place = note.loop, note.over
        dataset = loop.dataset if place is None else args[place]
        if dataset is None:
            return
        loop.reads(dataset, iter(()))
        if not loop.rereadable():  # another one than in the call before
            return
        loop.step_function = function
        if place is None:
            loop.call = self._with_other(function, dataset, args, kw)
        else:
            loop.call = _at(place, function, args, kw)
        self._watch.trains(loop)
        self._watch.measure(loop)

    def _with_other(self, function: Any, dataset: Any, args: Any, kw: Any) -> Any:
        """The function with another dataset in place of the one that it closes over."""
        import tensorflow as tf

        python, owner = user_function(function)
        mine = () if owner is None else (owner,)

        @tf.function
        def call(part: Any) -> Any:
            self._swap = (dataset, part)
            try:
                return tf.autograph.to_graph(python)(*mine, *args, **kw)
            finally:
                self._swap = None

        return call

    # ------------------------------------------------ a function with an iterator

    def _start_given(
        self, function: Any, note: Note, args: Any, frame: FrameType
    ) -> None:
        """The first call of a step that is handed the iterator and takes its
        batch itself."""
        from feedline.job.loops.call import CallLoop, over

        assert note.given is not None
        loop = note.loop = CallLoop(
            "iterator", where_of(frame), self._watch.clock, over
        )
        loop.step_function = function
        loop.began = self._watch.clock.now()
        around = rounds_around(frame)
        if around and None not in around:
            loop.steps_per_epoch = around[-1]
            loop.epochs = math.prod(n for n in around[:-1] if n is not None)
        self._reads(loop, args[note.given])
        self._watch.trains(loop)

    def _reads(self, loop: Any, iterator: Any) -> None:
        made_by = getattr(iterator, marks.LOOP, None)
        dataset = made_by.dataset if made_by else tf_private.dataset.get(iterator)
        if loop.epochs is None and made_by is not None:
            loop.epochs = made_by.epochs
        loop.reads(dataset, iterator, of_script=True)

    def _given(
        self, function: Any, original: Any, args: Any, kwargs: Any, note: Note
    ) -> Any:
        """The next call of it."""
        from feedline.job.loops.call import over

        assert note.given is not None
        watch, loop, iterator = self._watch, note.loop, args[note.given]
        if watch.stopped:
            from feedline.job.script.watch import ScriptStopped

            raise ScriptStopped
        now = watch.clock.now()
        if loop.live.iterator is not iterator:
            self._reads(loop, iterator)
            loop.trains_now = True
        elif loop.opened is not None:
            loop.step_function = function
            loop.call = _at(note.given, function, args, kwargs)
            watch.step_ended(loop, now)
            loop.call = over
        loop.opened = watch.clock.now()
        self.calling.append(note)
        try:
            return original(function, *args, **kwargs)
        finally:
            self.calling.pop()
            note.calls += 1
            loop.inside_now = watch.clock.now() - loop.opened


def user_function(function: Any) -> tuple[Any, Any]:
    """The Python function inside a `tf.function`, and the object it is a method
    of, or None."""
    python = inspect.unwrap(getattr(function, "python_function", function))
    owner = getattr(python, "__self__", None)
    return getattr(python, "__func__", python), getattr(owner, "target", owner)


def _at(place: int, function: Any, args: Any, kwargs: Any) -> Callable[[Any], Any]:
    """The function of what stands at this place among its arguments."""

    def call(other: Any) -> Any:
        return function(*args[:place], other, *args[place + 1 :], **kwargs)

    return call


def _iterator_among(args: Any) -> int | None:
    """The place of a dataset's iterator, of a strategy's too."""
    for place, value in enumerate(args):
        if hasattr(type(value), "get_next") and hasattr(type(value), "__next__"):
            return place
    return None


def _is_dataset(value: Any) -> bool:
    """A dataset, or one that a strategy distributes."""
    kinds = {cls.__name__ for cls in type(value).__mro__}
    return bool(kinds & {"DatasetV2", "DistributedDataset"})


def _sees_dataset(function: Any, args: Any, kwargs: Any) -> bool:
    """Could this function loop over a dataset: one that it is given, or that it
    closes over, or that its object holds?"""
    python, owner = user_function(function)
    seen = [*args, *kwargs.values(), *getattr(owner, "__dict__", {}).values()]
    code = getattr(python, "__code__", None)
    if code is not None:
        names = getattr(python, "__globals__", {})
        seen += [names[name] for name in code.co_names if name in names]
        for cell in getattr(python, "__closure__", None) or ():
            with contextlib.suppress(ValueError):
                seen.append(cell.cell_contents)
    return any(_is_dataset(value) for value in seen)


def _line_being_traced() -> Where | None:
    """AutoGraph runs a translation of the user's code; TensorFlow's own stack
    knows which line of his it stands for."""
    from feedline.job.private.tensorflow import tf_stack

    for entry in reversed(list(tf_stack.extract_stack())):
        if not is_library(entry.filename):
            return line_of(entry.filename, entry.lineno)
    return None


def _count(dataset: Any) -> int | None:
    try:
        number = int(dataset.cardinality())
    except Exception:
        return None
    return number if number >= 0 else None
