"""What a loop wants to know of steps of the script's own, and of who makes them.

The loop only asks; `fixes/means/own_step` makes them, and the session that watches a
script gives the maker to its loops. Without a maker the script's step runs as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, Protocol

from feedline.job.tfdata.pipeline import Where


class Step(Protocol):
    """The step of a loop: `on` runs it as a graph, `fused` as one that XLA compiles."""

    on: bool
    fused: bool


class StepOnlyLoop(Protocol):
    """A loop whose body is the step alone. `direct`: it reads a dataset, with nothing
    in between."""

    direct: bool


class Launches(Protocol):
    """Several steps in one launch; `ran` counts those that Python did not see."""

    ran: int

    def next(self, iterator: Any, read: Callable[[Any], Any] = ...) -> Any:
        """The batch for the next step that Python runs."""


class StepMaker(Protocol):
    """Each of these raises `CannotRun` where it cannot be the same."""

    def called(self, code: CodeType) -> Step:
        """The step is a function of the script's that runs this code."""

    def in_loop(self, where: Where, frame: FrameType) -> tuple[Step, CodeType] | None:
        """The step stands in the loop itself, in this frame; None where it was not
        made a function when the script was loaded."""

    def step_only(self, frame: FrameType, line: int) -> StepOnlyLoop | None:
        """The loop on this line, if nothing but the step stands in it."""

    def launches(self, loop: StepOnlyLoop, number: int, step: Step | None) -> Launches:
        """`number` steps of this loop at a time; `step` where Python runs it."""
