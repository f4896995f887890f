"""The values that pass between the driver and an engine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rates:
    """The learning rate over a block: `start - slope * token`, not below `floor`."""

    start: float
    slope: float
    floor: float

    def at(self, token: int) -> float:
        return max(self.floor, self.start - self.slope * token)


@dataclass(frozen=True)
class Tally:
    """What a block did: the sum of the loss, over how many examples."""

    loss: float = 0.0
    examples: int = 0
    kept: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.loss + other.loss,
            self.examples + other.examples,
            self.kept + other.kept,
        )
