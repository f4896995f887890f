"""How the watch follows the user's Python loops over a dataset.

A loop is known by the line that asks for an iterator. Each batch that is taken from it
ends the step before: so long as nobody measures, that is a few readings of the clock.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

from feedline.job import marks
from feedline.job.loops.loop import InputFailed, LoopEnded
from feedline.job.private import tensorflow as tf_private
from feedline.job.source.lines import (
    is_library,
    package_of,
    rounds_around,
    user_frame,
    where_of,
)
from feedline.job.tfdata.pipeline import Where

if TYPE_CHECKING:
    from feedline.job.script.watch import Watch


class PythonLoops:
    """`waiting` is the loop that waits for its next batch right now."""

    def __init__(self, watch: Watch) -> None:
        self.waiting: Any = None
        self._candidates: dict[Where | None, Any] = {}
        self._watch = watch

    def iterator_made(
        self, iterator: Any, dataset: Any, frame: FrameType | None
    ) -> None:
        watch = self._watch
        watch.quiet = False
        if tf_private.variant_tensor.on(dataset):
            watch.read_already.add(dataset)
        if watch.is_tracing or watch.fits.now is not None or not _by_user(frame):
            return
        if not watch.follows():
            return
        from feedline.job.loops.python import PythonLoop

        where = where_of(frame)
        loop = self._candidates.get(where)
        if loop is None:
            loop = self._candidates[where] = PythonLoop(where, watch.clock, watch.steps)
            loop.epochs = (1, *rounds_around(frame))[-1]
            inside = user_frame(frame)
            loop.body = inside.f_code if inside is not None else None
        elif loop.batches == 0:
            # `zip(a, b)` makes both before it reads either. The loop is fed by
            # the first; the other goes along as it is.
            return
        elif loop.measuring and dataset is not loop.dataset:
            return
        elif loop.trains_now:
            loop.steps_per_epoch = loop.batches
        loop.reads(dataset, iterator, of_script=True)
        setattr(iterator, marks.LOOP, loop)

    def next_batch(self, iterator: Any, original: Callable[[Any], Any]) -> Any:
        watch = self._watch
        loop = getattr(iterator, marks.LOOP)
        if watch.stopped and loop.training:
            from feedline.job.script.watch import ScriptStopped

            raise ScriptStopped
        if loop.idle and watch.active and self._runs(loop):
            return self._count(loop, iterator, original)
        watch.quiet = False
        if watch.is_tracing or watch.functions.calling or not watch.follows():
            return original(iterator)
        now = watch.clock.now()
        active = watch.active
        if not active or active[-1] is not loop:
            self._enter(loop)
        if not loop.measuring:
            if loop.opened is not None:
                self._step_ended(loop, now)
            if watch.ready(loop, now):
                watch.measure(loop)
        if loop.measuring:
            with watch.pause():
                try:
                    return loop.next_batch()
                except LoopEnded:
                    pass
                except InputFailed as failure:
                    watch.measured = None
                    raise failure.error from None
        self.waiting = loop
        try:
            batch = self._take(loop, iterator, original)
        except BaseException:
            self._leave(loop)
            raise
        finally:
            self.waiting = None
        if loop.began is None:
            loop.began = now
        if watch.listener is not None:
            watch.tell(watch.listener.batch, loop, batch)
        loop.batches += 1
        loop.opened = now
        loop.fetched = watch.clock.now() - now
        loop.traced_at = watch.tracing_seconds
        loop.inside_now = 0.0
        return batch

    def _runs(self, loop: Any) -> bool:
        """Is it the one that ran last, with nothing begun meanwhile?"""
        watch = self._watch
        return (
            watch.active[-1] is loop
            and watch.in_thread()
            and not (watch.is_tracing or watch.functions.calling)
        )

    def _count(self, loop: Any, iterator: Any, original: Callable[[Any], Any]) -> Any:
        """The next batch of a loop that need not be noted any more."""
        watch = self._watch
        watch.quiet = True
        watch.clock.now()  # a sign of life
        loop.steps += 1
        loop.batches += 1
        try:
            return self._take(loop, iterator, original)
        except BaseException:
            self._leave(loop)
            raise

    def _take(self, loop: Any, iterator: Any, original: Callable[[Any], Any]) -> Any:
        if loop.together is None:
            return original(iterator)
        with self._watch.pause():
            return loop.take_together(iterator, original)

    def _enter(self, loop: Any) -> None:
        """It is read: loops inside of it are over, by `break` perhaps."""
        active = self._watch.active
        if loop in active:
            del active[active.index(loop) + 1 :]
        else:
            active.append(loop)

    def _leave(self, loop: Any) -> None:
        watch = self._watch
        if loop in watch.active:
            del watch.active[watch.active.index(loop) :]
        loop.opened = None
        watch.quiet = False
        if loop.trains_now:
            loop.steps_per_epoch = loop.batches

    def _step_ended(self, loop: Any, now: float) -> None:
        """The body of the step before has run."""
        watch = self._watch
        period = now - loop.opened
        if not loop.trains_now:
            if loop.where is not None:
                watch.untrained[loop.where] += 1
            return
        inside = loop.inside_now + loop.fetched if loop.inside_now else period
        watch.note_step(loop, period, inside)
        if len(loop.waits) < len(loop.periods):
            loop.waits.append(loop.fetched)
        if watch.listener is not None:
            watch.tell(watch.listener.step, loop, period, loop.fetched)
        if loop.steps == 1:
            loop.first_step_seconds = period
            loop.first_step_tracing = watch.tracing_seconds - loop.traced_at
            if watch.first_step is not None:
                watch.first_step(loop)
        if loop.steps == 2:
            loop.warm_at = now


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
