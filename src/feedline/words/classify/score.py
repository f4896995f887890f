"""How well labels are found: precision, recall and accuracy, as fastText counts.

A label is found for a text where it is among the `k` likeliest and not below the
threshold. Over all texts,

    precision   of the labels found, the share that is right
    recall      of the labels that the texts have, the share that is found
    accuracy    of the texts, the share whose likeliest label is one of theirs

With one label for each text and k = 1 all three are the same. A label that the
classifier never saw is missed: it counts against recall (fastText leaves it out).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from feedline.errors import CorpusError
from feedline.words.classify.classifier import likeliest
from feedline.words.classify.encoded import Encoded


@dataclass(frozen=True)
class Score:
    """Counts of one label, or of all."""

    name: str
    texts: int
    """That have it."""
    found: int
    """For which it was found."""
    right: int
    """Both."""

    @property
    def precision(self) -> float:
        return self.right / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        return self.right / self.texts if self.texts else 0.0

    @property
    def f1(self) -> float:
        both = self.found + self.texts
        return 2 * self.right / both if both else 0.0


@dataclass(frozen=True)
class Scores:
    """Of all labels together, and of each, those of the most texts first."""

    texts: int
    k: int
    threshold: float
    accuracy: float
    total: Score
    labels: tuple[Score, ...]
    unknown: int
    """Labels of texts that the classifier never saw."""
    unlabelled: int
    """Lines that have no label, left out."""

    @property
    def precision(self) -> float:
        return self.total.precision

    @property
    def recall(self) -> float:
        return self.total.recall


class Tester:
    """Adds up what is right."""

    def __init__(self, labels: Sequence[str], k: int, threshold: float) -> None:
        self._labels = tuple(labels)
        self._numbers = {name: number for number, name in enumerate(labels)}
        self._k, self._threshold = k, threshold
        self._counts = np.zeros((3, len(labels)), np.int64)  # texts, found, right
        self._texts = self._first = self._unknown = self._unlabelled = 0
        self._counted: Encoded | None = None

    def add(self, encoded: Encoded, start: int, chances: NDArray[np.float32]) -> None:
        """The probabilities of some texts, from number `start` on."""
        if encoded is not self._counted:
            self._counted = encoded
            self._unlabelled += encoded.unlabelled
        known = np.array([self._numbers.get(name, -1) for name in encoded.names], int)
        offsets = encoded.labels.offsets[start : start + len(chances) + 1]
        ids = known[encoded.labels.ids[offsets[0] : offsets[-1]]]
        texts = np.repeat(np.arange(len(chances)), np.diff(offsets))
        self._unknown += int((ids < 0).sum())
        texts, ids = texts[ids >= 0], ids[ids >= 0]
        has = np.zeros(chances.shape, np.bool_)
        has[texts, ids] = True
        top, kept = likeliest(chances, self._k, self._threshold)
        found = np.zeros(chances.shape, np.bool_)
        places = np.arange(top.shape[1]) < kept[:, None]
        found[np.nonzero(places)[0], top[places]] = True
        for row, which in enumerate((has, found, has & found)):
            self._counts[row] += which.sum(axis=0)
        self._first += int(has[np.arange(len(top)), top[:, 0]].sum())
        self._texts += len(chances)

    def scores(self) -> Scores:
        if not self._texts:
            raise CorpusError(
                "there is nothing to test with: no text has a label. Labels look like "
                "__label__sports, or are in a column of a table."
            )
        texts, found, right = self._counts
        rows = [
            Score(name, int(texts[i]), int(found[i]), int(right[i]))
            for i, name in enumerate(self._labels)
        ]
        rows.sort(key=lambda row: (-row.texts, row.name))
        return Scores(
            self._texts,
            self._k,
            self._threshold,
            self._first / self._texts,
            Score(
                "all",
                int(texts.sum()) + self._unknown,
                int(found.sum()),
                int(right.sum()),
            ),
            tuple(rows),
            self._unknown,
            self._unlabelled,
        )
