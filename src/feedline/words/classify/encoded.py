"""Examples read once and made numbers: words by their place in the vocabulary.

Threads cut and count the words as they do for word vectors (counting.py); labels
are set aside as the text goes by. Everything ends up in memory, four bytes for each
word.
"""

from __future__ import annotations

import tempfile
import threading
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from feedline.words.classify.bags import Texts
from feedline.words.classify.examples import Example
from feedline.words.text.blocks import BLOCK
from feedline.words.text.corpus import Corpus
from feedline.words.text.counting import Counted, Progress
from feedline.words.text.encode import translated
from feedline.words.text.scan import PADDING
from feedline.words.text.shards import END
from feedline.words.text.spool import Spool

Choose = Callable[[Counted], NDArray[np.int32]]


@dataclass(frozen=True, eq=False)
class Encoded:
    """Texts, and for each its labels as places in `names`."""

    texts: Texts
    labels: Texts
    names: tuple[str, ...]
    """Labels in the order in which they were first seen."""
    tokens: int
    """All words that were seen, known or not."""
    unlabelled: int
    """Texts that were left out, because they have no label."""


class ExampleBlocks:
    """The texts as blocks of lines; their labels are kept here."""

    total: int | None

    def __init__(self, examples: Iterable[Example], *, labelled: bool) -> None:
        self.total = getattr(examples, "total", None)
        self.done = 0
        self.unlabelled = 0
        self.texts = 0
        self.label_ids = array("i")
        self.label_counts = array("i")
        self.label_numbers: dict[bytes, int] = {}
        self._source = examples
        self._examples: Iterator[Example] = iter(examples)
        self._labelled = labelled
        self._number = 0
        self._lock = threading.Lock()

    def take(self, buffer: bytearray) -> tuple[int, int] | None:
        with self._lock:
            lines: list[bytes] = []
            size = 0
            for labels, text in self._examples:
                if labels:
                    self._keep(labels)
                elif self._labelled:
                    self.unlabelled += 1
                    continue
                else:
                    self.label_counts.append(0)
                lines.append(text)
                size += len(text) + 1
                if size >= BLOCK:
                    break
            if not lines:
                return None
            lines.append(bytes(PADDING))
            buffer[:] = b"\n".join(lines)
            self.texts += len(lines) - 1
            self.done = getattr(self._source, "done", self.done + size)
            self._number += 1
            return self._number - 1, size

    def close(self) -> None:
        """Let go of open files."""
        close = getattr(self._examples, "close", None)
        if close is not None:
            close()

    def _keep(self, labels: list[bytes]) -> None:
        numbers = self.label_numbers
        different = dict.fromkeys(labels) if len(labels) > 1 else labels
        for label in different:
            self.label_ids.append(numbers.setdefault(label, len(numbers)))
        self.label_counts.append(len(different))


def encode(
    examples: Iterable[Example],
    choose: Choose,
    *,
    lower: bool = False,
    pattern: str | None = None,
    labelled: bool = True,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Encoded:
    """Read all examples. `choose` gives the number of each word of the table, or -1."""
    blocks = ExampleBlocks(examples, labelled=labelled)
    corpus = Corpus(lower=lower, pattern=pattern)
    with tempfile.TemporaryDirectory(prefix="feedline-") as folder:
        spool = Spool(Path(folder), "texts")
        try:
            counted = corpus.count(
                blocks=blocks, spool=spool, threads=threads, progress=progress
            )
            texts = _texts(spool, counted, choose(counted), blocks.texts)
        finally:
            spool.close()
    offsets = np.zeros(blocks.texts + 1, np.int64)
    np.cumsum(np.array(blocks.label_counts, np.int64), out=offsets[1:])
    ids = np.array(blocks.label_ids, np.int32)
    names = tuple(name.decode("utf-8", "replace") for name in blocks.label_numbers)
    return Encoded(texts, Texts(offsets, ids), names, counted.tokens, blocks.unlabelled)


def _texts(
    spool: Spool, counted: Counted, ids_of: NDArray[np.int32], texts: int
) -> Texts:
    offsets = np.zeros(texts + 1, np.int64)
    ids = np.empty(spool.size, np.int32)
    state = np.zeros(2, np.int64)
    for final, numbers in translated(spool, counted.maps, ids_of):
        _split(numbers, final, ids, offsets, state)
    return Texts(offsets, ids[: state[0]].copy())


@njit(nogil=True, cache=True)
def _split(numbers: Any, final: Any, ids: Any, offsets: Any, state: Any) -> None:
    """Append ids, and note where each text ends. state: ids, texts so far."""
    filled, text = state[0], state[1]
    for number in numbers:
        if number >= 0:
            word = final[number]
            if word >= 0:
                ids[filled] = word
                filled += 1
        elif number == END:
            text += 1
            offsets[text] = filled
    state[0], state[1] = filled, text
