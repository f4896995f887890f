"""A training under way: what the loop hands blocks to.

An engine that works on the host's matrices needs no more than `Direct`. One with
matrices on a device brings a runner of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from feedline.words.engine.config import Config
from feedline.words.engine.kinds import Rates, Tally
from feedline.words.engine.tables import Tables
from feedline.words.engine.weights import GloveWeights, Weights


class Runner(Protocol):
    """One training by one engine. It holds the matrices, perhaps on a device."""

    @property
    def threads(self) -> int:
        """How many threads may hand it blocks at once."""

    def block(self, tokens: NDArray[np.int32], seed: int, rates: Rates) -> Tally:
        """Train on a block of text. What a device has not finished is told later."""

    def pairs(self, pairs: NDArray[np.int32], logs: NDArray[np.float32]) -> Tally:
        """Train on a block of co-occurrences."""

    def flush(self) -> Tally:
        """Wait for what is under way, and tell of it."""

    def pull(self) -> None:
        """Bring the matrices of the host up to date. Nothing may be under way."""

    @property
    def peers(self) -> Peers:
        """The machines that train together."""


class Peers(Protocol):
    """What the machines that train together tell each other beside rows."""

    @property
    def chief(self) -> bool:
        """Whether this one writes the files."""

    def first(self, numbers: list[int]) -> list[int]:
        """The chief's numbers, on every machine."""

    def any(self, flag: bool) -> bool:
        """Whether it is so on any machine."""


class Alone:
    """One machine."""

    chief = True

    def first(self, numbers: list[int]) -> list[int]:
        return numbers

    def any(self, flag: bool) -> bool:
        return flag


@dataclass(frozen=True, eq=False)
class Direct:
    """A runner for an engine that works on the host's own matrices."""

    engine: Any
    config: Config
    weights: Weights | GloveWeights
    tables: Tables | None = None

    @property
    def threads(self) -> int:
        return self.config.threads

    def block(self, tokens: NDArray[np.int32], seed: int, rates: Rates) -> Tally:
        done: Tally = self.engine.block(self.tables, self.weights, tokens, seed, rates)
        return done

    def pairs(self, pairs: NDArray[np.int32], logs: NDArray[np.float32]) -> Tally:
        done: Tally = self.engine.glove(self.config, self.weights, pairs, logs)
        return done

    def flush(self) -> Tally:
        return Tally()

    def pull(self) -> None:
        """They are up to date always."""

    @property
    def peers(self) -> Peers:
        return Alone()
