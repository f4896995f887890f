"""Gradient descent over shuffled texts, in blocks, by threads.

It knows bags and labels as numbers; what they stand for is training.py's.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feedline.errors import TrainingError
from feedline.words.classify import kernel
from feedline.words.classify.bags import Texts
from feedline.words.classify.options import Options
from feedline.words.engine.kinds import Tally
from feedline.words.engine.simd import WIDTH
from feedline.words.engine.weights import Matrix, depth_of
from feedline.words.training.driver import Progress
from feedline.words.training.loop import Leg

Tell = Callable[[Progress], None]

# Rows in a block: a few milliseconds of work.
_BLOCK = 1 << 18


def copies(threads: int, rows: int) -> int:
    """The rows of which threads have copies, all in all: see kernel.py."""
    return 0 if threads == 1 else threads * min(kernel.HOT, rows)


@dataclass(frozen=True, eq=False)
class Descent:
    """Stretches of shuffled texts, in the form that `Leg` works off."""

    options: Options
    bag: Texts
    labels: Texts
    inputs: Matrix
    outputs: Matrix
    rows: int
    """Of the inputs; after them the threads have copies of the first."""
    classes: int
    _orders: dict[int, NDArray[np.int64]] = field(default_factory=dict, repr=False)
    _free: SimpleQueue[int] = field(default_factory=SimpleQueue, repr=False)

    def __post_init__(self) -> None:
        for thread in range(self.options.threads):
            self._free.put(thread)

    @cached_property
    def texts_per_block(self) -> int:
        width = len(self.bag.ids) / len(self.bag)
        fair = -(-len(self.bag) // (4 * self.options.threads))
        return max(1, min(fair, int(_BLOCK / width)))

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        size = self.texts_per_block
        sizes = np.full(-(-len(self.bag) // size), size, np.int64)
        sizes[-1] -= sizes.sum() - len(self.bag)
        return sizes

    def order(self, epoch: int) -> NDArray[np.int64]:  # noqa: ARG002
        return np.arange(len(self.sizes))

    def shuffle(self, epoch: int) -> None:
        """Draw the order of an epoch's texts."""
        self._orders.clear()
        draw = np.random.default_rng([self.options.seed, 1, epoch])
        self._orders[epoch] = draw.permutation(len(self.bag))

    def rate(self, epoch: int, text: int) -> float:
        done = (epoch + text / len(self.bag)) / self.options.epochs
        return self.options.lr * (1.0 - done)

    def run(self, epoch: int, place: int) -> Tally:
        first = place * self.texts_per_block
        order = self._orders[epoch][first : first + self.texts_per_block]
        return self._descend(order, self.rate(epoch, first))

    def warm_up(self) -> None:
        """Compile, or load what was compiled: seconds that are not training."""
        self._descend(np.empty(0, np.int64), 0.0)

    def _descend(self, order: NDArray[np.int64], rate: float) -> Tally:
        hot = copies(self.options.threads, self.rows) // self.options.threads
        thread = self._free.get()
        loss = kernel.train(
            order,
            self.bag.offsets,
            self.bag.ids,
            self.labels.offsets,
            self.labels.ids,
            self.inputs.reshape(-1),
            self.outputs.reshape(-1),
            self.inputs.shape[1],
            depth_of(self.options.dim, WIDTH),
            self.classes,
            self.bag.widest,
            rate,
            self.options.lr / (self.options.epochs * len(self.bag)),
            hot,
            self.rows + thread * hot,
        )
        self._free.put(thread)
        return Tally(float(loss), len(order))


def run(task: Descent, words: int, progress: Tell | None) -> dict[str, Any]:
    """All epochs. `words` is how many one has, which is what speed is told in; what is
    given back goes into `Classifier.about`."""
    texts, epochs = len(task.bag), task.options.epochs
    losses: list[float] = []
    if progress is not None:
        progress(Progress("compile", 0, None))
    task.warm_up()
    started = time.perf_counter()
    for epoch in range(epochs):
        task.shuffle(epoch)
        leg = Leg(task, epoch, 0)

        def tell(leg: Leg, epoch: int = epoch) -> bool:
            if progress is not None and leg.tally.examples:
                spent = time.perf_counter() - started
                done = (epoch * texts + leg.finished) / (epochs * texts)
                progress(
                    Progress(
                        "train",
                        done * words * epochs,
                        words * epochs,
                        epoch + 1,
                        epochs,
                        done * words * epochs / spent,
                        leg.tally.loss / leg.tally.examples,
                        task.rate(epoch, leg.finished),
                        spent / done - spent,
                    )
                )
            return False

        leg.run(task.options.threads, tell)
        tell(leg)
        losses.append(leg.tally.loss / texts)
        if not np.isfinite(losses[-1]):
            raise TrainingError(
                f"the loss became NaN in epoch {epoch + 1}: lr "
                f"{task.options.lr:g} is too high. Give a smaller one."
            )
    seconds = time.perf_counter() - started
    return {
        "texts": texts,
        "losses": losses,
        "seconds": round(seconds, 3),
        "words_per_second": round(words * epochs / max(seconds, 1e-9)),
    }
