"""What steps of a trace with open shapes take and save, and when a shape that comes
often should have a trace of its own. Pure arithmetic over seconds."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from statistics import median
from typing import Any


@dataclass
class Account:
    """`own_s` and `open_s` are a step of each kind as they were compared; `spent` is
    what the steps of the open trace took, `plain` what they would have taken."""

    own_s: float = 0.0
    open_s: float = 0.0
    steps: int = 0
    shapes: int = 0
    spent: float = 0.0
    plain: float = 0.0
    last: deque[float] = field(default_factory=lambda: deque(maxlen=64))

    @property
    def saved(self) -> float:
        return self.plain - self.spent

    @property
    def part(self) -> float:
        """Of a step of the open trace, what one with a trace of its own takes."""
        return self.own_s / max(self.open_s, 1e-9)

    def note(self, seconds: float, trace_s: float | None = None) -> None:
        """A step; of a shape that is new, which would have been traced for so long."""
        self.steps += 1
        self.spent += seconds
        self.last.append(seconds)
        self.shapes += trace_s is not None
        self.plain += seconds * self.part if trace_s is None else trace_s

    def earns(self, calls: int, loop: Any, trace_s: float) -> bool:
        """Would a trace of its own pay for a shape that came so often, by what it still
        saves?"""
        each = median(self.last) if self.last else self.open_s
        gap = each * (1 - self.part)
        return gap > 0 and expected_calls(calls, loop) * gap > trace_s


def expected_calls(calls: int, loop: Any) -> float:
    """Once in each pass over the data that is left, or else as often as it came so
    far. The passes are counted where a dataset is read."""
    if loop.epochs is None:
        return float(calls)
    if loop.passes:
        each = max(1.0, calls / loop.passes)
        return float(each * max(0, loop.epochs - loop.passes + 1))
    calls = max(1, calls)
    return float(loop.epochs - calls + 1 if calls <= loop.epochs else calls)


def before_s(own_s: float, trace_s: float, loop: Any) -> float:
    """A step where each shape is traced once, by all that is known of how often it
    comes."""
    passes = loop.epochs or 1
    return (trace_s + (passes - 1) * own_s) / passes
