"""`feedline run --live`: the monitor of a job that does not know of it.

A fit gets a `Monitor` as its last callback; of the script's own loops over a dataset
the watch tells, batch by batch. TensorFlow is imported when the script has trained
a step, not before. What fails here is said once; the job goes on.
"""

from __future__ import annotations

import logging
import weakref
from typing import TYPE_CHECKING, Any, TextIO, cast

from feedline.errors import one_sentence
from feedline.job.script.watch import Watch
from feedline.process.voice import Voice

if TYPE_CHECKING:
    from feedline.monitor.record import Record

log = logging.getLogger(__name__)

_SIZES_EVERY = 16


class Live:
    def __init__(self, watch: Watch, voice: Voice) -> None:
        self._watch = watch
        self._say = voice.say
        self._out = cast(TextIO, voice)
        self._monitor: Any = None
        self._record: Record | None = None
        self._passes: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._examples: int | None = None

    def begin(self) -> None:
        self._watch.fits.live = self.callback
        self._watch.listener = self

    def callback(self) -> Any:
        """For a fit; None where there can be none."""
        try:
            if self._monitor is None:
                from feedline.monitor.callback import Monitor
                from feedline.monitor.display import Display

                self._monitor = Monitor()
                self._monitor._display = Display(None, self._out)
        except Exception as error:
            self._failed(error)
        return self._monitor

    def batch(self, loop: Any, batch: Any) -> None:
        """The watch tells of a loop of the script's."""
        if loop.batches % _SIZES_EVERY:
            return
        from feedline.monitor.callback import examples_in

        self._examples = examples_in(batch)

    def step(self, loop: Any, period: float, waited: float) -> None:
        try:
            self._stepped(loop, period, waited)
        except Exception as error:
            self._failed(error)

    def _stepped(self, loop: Any, period: float, waited: float) -> None:
        now = self._watch.clock.now()
        if self._record is None:
            from feedline.monitor.callback import EVERY_S
            from feedline.monitor.display import Display
            from feedline.monitor.record import Record

            self._record = Record(self._watch.clock, EVERY_S, Display(None, self._out))
        if self._passes.get(loop) != loop.passes:
            self._passes[loop] = loop.passes
            self._record.begin_epoch(now - period)
        iterator = loop.live.iterator if loop.live is not None else None
        steps, examples = loop.launched, self._examples
        self._record.step(
            now,
            steps=steps,
            waited=waited if steps == 1 else None,  # its steps are in there
            examples=None if examples is None else examples * steps,
            iterator=iterator,
        )

    def end(self) -> None:
        try:
            if self._record is not None:
                self._record.end()
        except Exception as error:
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        self._watch.fits.live = self._watch.listener = None
        log.info("failed", exc_info=error)
        text = f"{type(error).__name__}: {one_sentence(error)}"
        self._say(f"nothing more is shown live: {text}")
