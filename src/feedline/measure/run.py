"""Where the time before the first step goes: imports, preparing, tracing.

A thread looks at the script's main thread a hundred times a second and credits
the time since its last look to what it finds there: an import, the tracing of a
function, or a line of the user's. It stops when training has begun, so that it
costs the steps nothing.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import defaultdict
from types import FrameType

from feedline.job.loops.loop import Clock
from feedline.job.script.watch import Watch
from feedline.job.source.lines import line_of, user_frame
from feedline.measure.measurement import Line
from feedline.process import threads

_PERIOD = 0.01


class RunSampler:
    """The watch tells whether the script is tracing or training right now."""

    def __init__(self, clock: Clock, watch: Watch) -> None:
        self._clock = clock
        self._script = watch
        self._thread_id = threading.get_ident()
        self._stop = threading.Event()
        self._paused = False
        self._thread: threads.Hidden | None = None
        self.import_s = 0.0
        self.prepare_s = 0.0
        self._lines: dict[tuple[str, int], float] = defaultdict(float)
        self._last = clock.now()

    def start(self) -> None:
        self._last = self._clock.now()
        self._stop.clear()
        self._thread = threads.start(self._watch)

    def stop(self) -> None:
        self._stop.set()

    def join(self, seconds: float) -> bool:
        """Wait until it looks no more; does it not?"""
        return self._thread is None or self._thread.join(seconds)

    def pause_at_forks(self) -> None:
        """Python warns of a fork beside a thread; without us there was none."""
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self._pause, after_in_parent=self._go_on)

    def _pause(self) -> None:
        self._paused = self._thread is not None and self._thread.alive
        if self._paused:
            self._stop.set()
            self.join(1.0)

    def _go_on(self) -> None:
        if self._paused and not self._script.began:
            self.start()

    def _watch(self) -> None:
        while not self._stop.wait(_PERIOD):
            frame = sys._current_frames().get(self._thread_id)
            now = self._clock.now()
            if frame is None or self._script.began:
                return
            self.credit(frame, now - self._last)
            self._last = now
            del frame

    def credit(self, frame: FrameType, seconds: float) -> None:
        if _importing(frame):
            self.import_s += seconds
        elif not self._script.is_tracing:
            self.prepare_s += seconds
            mine = user_frame(frame)
            if mine is not None:
                self._lines[mine.f_code.co_filename, mine.f_lineno] += seconds

    def slowest(self, most: int = 5) -> tuple[Line, ...]:
        ranked = sorted(self._lines.items(), key=lambda item: -item[1])[:most]
        return tuple(
            Line(line_of(file, line), seconds)
            for (file, line), seconds in ranked
            if seconds >= 0.05
        )


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib._bootstrap"):
            return True
        frame = frame.f_back
    return False
