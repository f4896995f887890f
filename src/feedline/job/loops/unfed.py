"""A step that the script calls in a loop which no dataset feeds: over a list of its
documents, say. Only its calls are seen."""

from __future__ import annotations

import math
from types import FrameType

from feedline.job.loops.base import Loop
from feedline.job.loops.loop import Clock
from feedline.job.source.lines import rounds_around, where_of

_ENOUGH = 4096  # steps; later ones are not kept


class UnfedLoop(Loop):
    """`where` is the line that calls the step. `epochs` is how often the loops around
    the innermost go round, where that can be told."""

    kind = "loop"

    def __init__(self, frame: FrameType, clock: Clock) -> None:
        super().__init__(where_of(frame), clock)
        around = rounds_around(frame)
        outer = [rounds for rounds in around[:-1] if rounds is not None]
        if around and len(outer) == len(around) - 1:
            self.epochs = math.prod(outer) if outer or around[-1] else None
            self.steps_per_epoch = around[-1]
        self.training = True

    def called(self, begin: float, seconds: float) -> None:
        """The step took so long; the last period ended where this one begins."""
        if self.opened is not None and self.steps < _ENOUGH:
            self.note_step(begin - self.opened, self.inside_now)
        self.opened, self.inside_now = begin, seconds
