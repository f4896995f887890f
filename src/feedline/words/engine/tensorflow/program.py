"""What a device runs for text: draws for a launch, then its steps.

A program is what places.py needs to know of a model:

    adagrad                whether changes go through AdaGrad
    signature()            the types of a launch's arguments
    arguments(...)         a block of the driver as such arguments
    prepare(*arguments)    the state of a launch, with its number of `steps`
    step(state, number, part, parts, look)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from feedline.words.engine.kinds import Rates
from feedline.words.engine.tensorflow.bags import Bags
from feedline.words.engine.tensorflow.draws import Draws, Sampler, cut
from feedline.words.engine.tensorflow.text import Look, Outcome, TextModel


class Launch(NamedTuple):
    """The state of a launch."""

    draws: Draws
    rates: Any
    steps: Any


@dataclass(frozen=True, eq=False)
class TextProgram:
    """Skip-gram or CBOW."""

    sampler: Sampler
    model: TextModel
    bags: Bags | None
    adagrad = False

    def signature(self) -> list[Any]:
        return [
            tf.TensorSpec([self.sampler.shape.tokens], tf.int32),
            tf.TensorSpec([2], tf.int32),
            tf.TensorSpec([3], tf.float32),
        ]

    def arguments(self, tokens: Any, seed: int, rates: Rates) -> tuple[Any, Any, Any]:
        full = np.full(self.sampler.shape.tokens, -1, np.int32)
        full[: len(tokens)] = tokens
        halves = np.array([seed & 0xFFFFFFFF, seed >> 32], np.uint32).view(np.int32)
        # The slope is tiny: in float32 it is given per launch, not per token.
        span = rates.slope * self.sampler.shape.tokens
        return full, halves, np.array([rates.start, span, rates.floor], np.float32)

    def prepare(self, tokens: Any, seed: Any, rates: Any) -> Launch:
        draws = self.sampler.draw(tokens, seed)
        size = self.sampler.shape.step
        return Launch(draws, rates, (draws.kept + size - 1) // size)

    def kept(self, state: Launch) -> Any:
        return state.draws.kept

    def step(
        self, state: Launch, number: Any, part: int, parts: int, look: Look
    ) -> Outcome:
        shape = self.sampler.shape
        start, span, floor = tf.unstack(state.rates)
        passed = tf.cast(state.draws.at[number], tf.float32) / shape.tokens
        rate = tf.maximum(floor, start - span * passed)
        mine = cut(shape, state.draws, number, part, parts)
        return self.model.step(mine, rate, look, self.bags)
