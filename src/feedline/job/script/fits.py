"""How the watch follows Keras' `Model.fit`.

A callback of ours puts a clock around the model's train function. The callback
has no hooks for batches, so Keras keeps its fast path, and when fit is over the
model and the user's callbacks are as they were.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

from feedline.job import marks
from feedline.job.private import keras as keras_private
from feedline.job.private import tensorflow as tf_private
from feedline.job.script.validated import validated
from feedline.job.source.lines import where_of

if TYPE_CHECKING:
    from feedline.job.script.watch import Watch


class Fits:
    """`now` is the loop of the fit that is running, or None."""

    def __init__(self, watch: Watch) -> None:
        self.now: Any = None
        self.epochs: Any = None  # Keras' iterator over the epochs of this fit
        # For `feedline run --live`: one more callback, the last of all.
        self.live: Callable[[], Any] | None = None
        self._ours: list[Any] = []
        self._thread = 0
        self._watch = watch

    def begun(self, model: Any, bound: Any, frame: FrameType) -> None:
        """`bound` are fit's arguments; a callback of ours joins the user's."""
        from feedline.job.loops.call import CallLoop

        loop = CallLoop("fit", where_of(frame), self._watch.clock, model.fit)
        loop.model = model
        loop.epochs = _epochs(bound.arguments)
        loop.began = self._watch.clock.now()
        self.now, self._thread = loop, threading.get_ident()
        self._watch.quiet = False
        self._watch.trains(loop)
        given = bound.arguments.get("callbacks")
        loop.callbacks = hear_batches(given)
        loop.acts_early = acts_before_the_first_step(given)
        loop.validation = validated(bound.arguments)
        self._ours = [self._callback(model, loop)]
        if self.live is not None:
            self._ours += filter(None, [self.live()])
        bound.arguments["callbacks"] = _joined(given, self._ours)

    def ended(self, model: Any, bound: Any) -> None:
        """Leave no trace on the model or in the user's list of callbacks."""
        loop, self.now, self.epochs = self.now, None, None
        self._watch.quiet = False
        _unwrap(model)
        if self._watch.after_fit is not None and loop is not None:
            self._watch.after_fit(loop)
        if loop is not None:
            loop.rest()
        known = getattr(bound.arguments.get("callbacks"), "callbacks", None)
        if isinstance(known, list):
            known[:] = [each for each in known if each not in self._ours]
        self._ours = []

    def _callback(self, model: Any, loop: Any) -> Any:
        import keras

        fits = self

        class FeedlineWatch(keras.callbacks.Callback):  # type: ignore[misc]
            def on_train_begin(self, logs: Any = None) -> None:  # noqa: ARG002
                loop.steps_per_call = int(getattr(model, "steps_per_execution", 1))
                loop.eager = bool(getattr(model, "run_eagerly", False))
                strategy = getattr(model, "distribute_strategy", None)
                if type(strategy).__name__ != "_DefaultDistributionStrategy":
                    loop.strategy = strategy
                if fits._watch.before_fit is not None:
                    fits._watch.before_fit(loop, fits.epochs)
                    loop.steps_per_call = int(fits.epochs.steps_per_execution)
                model.train_function = fits._watched(loop, model.train_function)

            def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
                if fits._watch.epoch_begins is not None:
                    fits._watch.epoch_begins(loop)

            def on_test_begin(self, logs: Any = None) -> None:  # noqa: ARG002
                fits._validates(loop, fits._watch.validation_begins)

            def on_test_end(self, logs: Any = None) -> None:  # noqa: ARG002
                fits._validates(loop, fits._watch.validation_ends)

        return FeedlineWatch()

    def _validates(self, loop: Any, told: Callable[[Any, Any], None] | None) -> None:
        """A pass of this fit's own validation begins or ends."""
        data = keras_private.eval_epoch_iterator.get(loop.model)
        if told is not None and data is not None and loop.validation is not None:
            told(loop, data)
            loop.opened = None

    def change_back(self, loop: Any, undo: Callable[[], None]) -> None:
        """Between two epochs: put back what was put into the model of this fit."""
        model = loop.model
        _unwrap(model)
        undo()
        loop.steps_per_call = int(self.epochs.steps_per_execution)
        model.train_function = self._watched(loop, model.train_function)

    def data_made(self, epoch_iterator: Any) -> None:
        """The first that a fit makes is for training. Another thread may fit too."""
        loop = self.now
        if loop is None or loop.dataset is not None:
            return
        if threading.get_ident() != self._thread:
            return
        self.epochs = epoch_iterator
        dataset = keras_private.distributed_dataset(epoch_iterator)
        loop.dataset = dataset
        loop.source = tf_private.original_dataset.get(dataset, dataset)
        adapter = type(epoch_iterator.data_adapter).__name__
        loop.once = adapter == "GeneratorDataAdapter"
        batches = epoch_iterator.num_batches
        loop.steps_per_epoch = int(batches) if batches is not None else None
        loop.restarts = epoch_iterator.steps_per_epoch is None

    def _watched(self, loop: Any, train: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Keras' train function, with a clock around it."""
        from feedline.job.script.watch import ScriptStopped

        watch, clock = self._watch, self._watch.clock
        loop.call = train

        def step(iterator: Any) -> Any:
            now = clock.now()
            if watch.stopped:
                raise ScriptStopped
            if watch.done or not watch.on:
                watch.quiet = True
                return train(iterator)
            # `feedline.Monitor` feeds a step from a stand-in for the job's iterator.
            own = getattr(iterator, marks.FOR, iterator)
            if loop.idle and loop.live.iterator is own:
                watch.quiet = True
                loop.steps += loop.steps_per_call
                loop.batches += loop.steps_per_call
                return train(iterator)
            if loop.live is None or loop.live.iterator is not own:
                if loop.batches and loop.steps_per_epoch is None:
                    loop.steps_per_epoch = loop.batches
                loop.reads(loop.dataset, own)
                loop.trains_now = True
            elif loop.opened is not None and watch.step_ended(loop, now):
                now = clock.now()
            loop.opened = now
            traced = watch.tracing_seconds
            result = train(iterator)
            loop.inside_now = clock.now() - now
            loop.batches += loop.steps_per_call
            if loop.first_step_seconds == 0.0:
                loop.first_step_seconds = loop.inside_now
                loop.first_step_tracing = watch.tracing_seconds - traced
            return result

        def paced(iterator: Any) -> Any:
            loop.pace.begins()
            result = step(iterator)
            loop.pace.ends(loop.steps_per_call)
            return result

        made = step if loop.pace is None else paced
        setattr(made, marks.ORIGINAL, train)
        return made


def _unwrap(model: Any) -> None:
    while hasattr(model.train_function, marks.ORIGINAL):
        model.train_function = getattr(model.train_function, marks.ORIGINAL)


def _epochs(arguments: Any) -> int | None:
    try:
        return int(arguments.get("epochs", 1)) - int(arguments.get("initial_epoch", 0))
    except (TypeError, ValueError):
        return None


def _joined(given: Any, ours: list[Any]) -> Any:
    import keras

    if isinstance(given, keras.callbacks.CallbackList):
        given.callbacks.extend(ours)
        return given
    if isinstance(given, list | tuple):
        return [*given, *ours]
    return [*ours] if given is None else [given, *ours]


_HOOKS = (
    *("on_train_batch_begin", "on_train_batch_end"),
    *("on_batch_begin", "on_batch_end"),
)


_EARLY = ("on_epoch_begin", "on_train_batch_begin", "on_batch_begin")


def hear_batches(given: Any) -> tuple[str, ...]:
    """The names of those callbacks that are called for every batch."""
    return tuple(type(each).__name__ for each in _listed(given) if _hears_batches(each))


def acts_before_the_first_step(given: Any) -> bool:
    """Does the user's own code in a callback run between the start of the training and
    its first step? It may change what a step that is traced then sees."""
    return any(
        _has_own(each, hook) and not _is_keras(getattr(each, hook))
        for each in _listed(given)
        for hook in _EARLY
    )


def _listed(given: Any) -> list[Any]:
    given = getattr(given, "callbacks", given)
    if given is None:
        return []
    return [*given] if isinstance(given, list | tuple) else [given]


def _has_own(callback: Any, hook: str) -> bool:
    """Another than the one of Keras' plain callback, which does nothing."""
    import keras

    plain = getattr(keras.callbacks.Callback, hook)
    return getattr(getattr(callback, hook, None), "__func__", None) is not plain


def _is_keras(method: Any) -> bool:
    return str(getattr(method, "__module__", "")).partition(".")[0] == "keras"


def _hears_batches(callback: Any) -> bool:
    import keras

    if type(callback) is keras.callbacks.ModelCheckpoint:
        return bool(callback.save_freq != "epoch")
    return any(_has_own(callback, hook) for hook in _HOOKS)
