"""Makes steps of the script's own for a loop: see `job/loops/own_steps.py`.

Importing this needs no TensorFlow: it is given to the watch before the script starts.
"""

from __future__ import annotations

from types import CodeType, FrameType
from typing import Any

from feedline.fixes.means.own_step import hoist, step_only_loop
from feedline.job.tfdata.pipeline import Where


class OwnSteps:
    """The one `StepMaker`."""

    def called(self, code: CodeType) -> Any:
        from feedline.fixes.means.own_step.graph_step import OwnStep

        return OwnStep(code)

    def in_loop(self, where: Where, frame: FrameType) -> tuple[Any, CodeType] | None:
        from feedline.fixes.means.own_step.inline_step import InlineStep

        found = hoist.at(where.file, where.line)
        if found is None:
            return None
        return InlineStep(found, frame), found.extracted.code

    def step_only(self, frame: FrameType, line: int) -> Any:
        return step_only_loop.of(frame, line)

    def launches(self, loop: Any, number: int, step: Any) -> Any:
        from feedline.fixes.means.own_step.multi_step import MultiStep

        return MultiStep(loop, number, step)
