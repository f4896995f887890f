"""A training on devices: rows go there with the first block and come back when asked.

Launches are not waited for: one is under way while the next block's token ids
are copied, and what it did is told with a later one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feedline.words.engine.kinds import Rates, Tally
from feedline.words.engine.runner import Alone, Peers
from feedline.words.engine.weights import GloveWeights, Weights

_AHEAD = 2
"""Launches that may be under way."""


class DeviceRunner:
    """Holds the place that rows live in (places.py), made with the first block."""

    threads = 1
    """TensorFlow has threads of its own."""

    def __init__(
        self,
        program: Any,
        weights: Weights | GloveWeights,
        names: tuple[str, ...],
        width: int,
        place: Callable[[Any, dict[str, NDArray[np.float32]]], Any],
        peers: Peers | None = None,
        guard: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self.program = program
        self._weights, self._names, self._width = weights, names, width
        self._make = place
        self._place: Any = None
        self.peers = peers or Alone()
        self._guard = guard
        self._under_way: deque[Any] = deque()
        self._changed = False

    def block(self, tokens: NDArray[np.int32], seed: int, rates: Rates) -> Tally:
        return self._run(self.program.arguments(tokens, seed, rates))

    def pairs(self, pairs: NDArray[np.int32], logs: NDArray[np.float32]) -> Tally:
        return self._run(self.program.arguments(pairs, logs))

    def _run(self, arguments: tuple[Any, ...]) -> Tally:
        with self._guard():
            if self._place is None:
                rows = {name: self._host(name) for name in self._names}
                self._place = self._make(self.program, rows)
            self._under_way.append(self._place.launch(*arguments))
            self._changed = True
            spare = len(self._under_way) - _AHEAD
            return _told([self._under_way.popleft() for _ in range(spare)])

    def flush(self) -> Tally:
        with self._guard():
            done = list(self._under_way)
            self._under_way.clear()
            return _told(done)

    def pull(self) -> None:
        if self._place is None or not self._changed:
            return
        for name, rows in self._place.read().items():
            self._host(name)[:] = rows
        self._changed = False

    def _host(self, name: str) -> NDArray[np.float32]:
        matrix: NDArray[np.float32] = getattr(self._weights, name)
        return matrix[:, : self._width]


def _told(launches: list[Any]) -> Tally:
    tally = Tally()
    for loss, examples, kept in launches:
        tally += Tally(float(loss), round(float(examples)), int(kept))
    return tally
