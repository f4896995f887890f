"""What the training loop works off: blocks, in an order, of so many epochs.

Text is taken in order, by turns from the first half of the corpus and from the
second, so that both are learnt at all rates, from the highest to the lowest. That
is what two workers of word2vec or gensim do, here whatever the number of threads.
Co-occurrences have no order of their own and are shuffled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from feedline.words.engine.config import Config
from feedline.words.engine.kinds import Rates, Tally
from feedline.words.engine.runner import Runner
from feedline.words.engine.tables import Tables, block_seed
from feedline.words.engine.weights import GloveWeights, Matrix, Weights
from feedline.words.text.cooccurrence import Cooccurrences
from feedline.words.text.spans import Span


@dataclass(frozen=True)
class Tensor:
    """A padded matrix, and the part of it that means something."""

    matrix: Matrix
    rows: int
    columns: int


class Task(Protocol):
    """Anything that can be worked off block by block."""

    @property
    def config(self) -> Config: ...

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How much work each block is."""

    def order(self, epoch: int) -> NDArray[np.int64]:
        """The blocks of an epoch, as they are to be taken."""

    @property
    def runner(self) -> Runner:
        """What computes."""

    def run(self, epoch: int, place: int) -> Tally:
        """Do the block at a place of the epoch's order."""

    def rate(self, epoch: int, place: int) -> float:
        """The learning rate there."""

    def tensors(self) -> dict[str, Tensor]:
        """What must be saved to go on later, up to date."""


@dataclass(frozen=True, eq=False)
class TextTask:
    """Skip-gram or CBOW over encoded text."""

    runner: Runner
    tables: Tables
    weights: Weights
    arrays: Sequence[NDArray[np.int32]]
    spans: Sequence[Span]
    sizes: NDArray[np.int64]
    _before: dict[int, NDArray[np.int64]] = field(default_factory=dict, repr=False)

    @property
    def config(self) -> Config:
        return self.tables.config

    def order(self, epoch: int) -> NDArray[np.int64]:  # noqa: ARG002
        return by_turns(len(self.spans))

    def run(self, epoch: int, place: int) -> Tally:
        block = int(self.order(epoch)[place])
        array, start, stop = self.spans[block]
        return self.runner.block(
            np.asarray(self.arrays[array][start:stop]),
            block_seed(self.config.seed, epoch, block),
            self._rates(epoch, place),
        )

    def rate(self, epoch: int, place: int) -> float:
        return self._rates(epoch, place).start

    def tensors(self) -> dict[str, Tensor]:
        self.runner.pull()
        dim = self.config.dim
        return {
            "inputs": Tensor(self.weights.inputs, self.tables.input_rows, dim),
            "outputs": Tensor(self.weights.outputs, self.tables.output_rows, dim),
        }

    def _rates(self, epoch: int, place: int) -> Rates:
        config = self.config
        before = self._work_before(epoch)
        total = int(before[-1])
        slope = (config.alpha - config.min_alpha) / (config.epochs * total)
        done = epoch * total + int(before[place])
        start = max(config.min_alpha, config.alpha - slope * done)
        return Rates(start, slope, config.min_alpha)

    def _work_before(self, epoch: int) -> NDArray[np.int64]:
        """Work done before each place of the epoch's order; the last is all of it."""
        known = self._before.get(epoch)
        if known is None:
            before = np.zeros(len(self.sizes) + 1, np.int64)
            np.cumsum(self.sizes[self.order(epoch)], out=before[1:])
            self._before.clear()
            self._before[epoch] = before
            return before
        return known


@dataclass(frozen=True, eq=False)
class GloveTask:
    """GloVe over co-occurrences."""

    runner: Runner
    config: Config
    weights: GloveWeights
    counts: Cooccurrences
    words: int
    sizes: NDArray[np.int64]

    def order(self, epoch: int) -> NDArray[np.int64]:
        return shuffled(self.config.seed, epoch, len(self.sizes))

    def run(self, epoch: int, place: int) -> Tally:
        block = int(self.order(epoch)[place])
        start, stop = self.counts.starts[block : block + 2]
        return self.runner.pairs(
            np.asarray(self.counts.pairs[start:stop]),
            np.asarray(self.counts.logs[start:stop]),
        )

    def rate(self, epoch: int, place: int) -> float:  # noqa: ARG002
        return self.config.eta

    def tensors(self) -> dict[str, Tensor]:
        self.runner.pull()
        names = ("inputs", "outputs", "input_squares", "output_squares")
        columns = self.weights.bias + 1
        return {
            name: Tensor(matrix, self.words, columns)
            for name, matrix in zip(names, self.weights.matrices(), strict=True)
        }


def glove_task(
    runner: Runner,
    config: Config,
    weights: GloveWeights,
    counts: Cooccurrences,
    words: int,
) -> GloveTask:
    return GloveTask(
        runner, config, weights, counts, words, np.diff(counts.starts).astype(np.int64)
    )


def text_task(
    runner: Runner,
    tables: Tables,
    weights: Weights,
    arrays: Sequence[NDArray[np.int32]],
    spans: Sequence[Span],
) -> TextTask:
    sizes = np.array([stop - start for _, start, stop in spans], np.int64)
    return TextTask(runner, tables, weights, arrays, spans, sizes)


@lru_cache(maxsize=2)
def by_turns(blocks: int) -> NDArray[np.int64]:
    """The blocks in order, by turns from the first half and the second."""
    half = -(-blocks // 2)
    turns = np.arange(2 * half).reshape(2, half).T.reshape(-1)
    return np.asarray(turns[turns < blocks])


@lru_cache(maxsize=2)
def shuffled(seed: int, epoch: int, blocks: int) -> NDArray[np.int64]:
    """The blocks in an order of their own for each epoch."""
    return np.random.default_rng([seed, epoch]).permutation(blocks)
