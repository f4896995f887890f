"""`Classifier`: what training gives, and what it is asked.

It knows no trainer. Reading and writing live in `directory`, the figures of a test
in `score`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from feedline.errors import ClassifierError, TensorFlowMissing
from feedline.words.classify import bags, kernel
from feedline.words.classify.encoded import Encoded, encode
from feedline.words.classify.examples import (
    Column,
    Example,
    FileExamples,
    Layout,
    from_pairs,
    one_line,
)
from feedline.words.classify.options import Options
from feedline.words.engine.simd import TILE, WIDTH
from feedline.words.engine.weights import blank, depth_of
from feedline.words.text.counting import Counted
from feedline.words.vectors.vectors import Vectors

if TYPE_CHECKING:
    from feedline.words.classify.score import Scores

Matrix = NDArray[np.float32]
Prediction = list[tuple[str, float]]

# Texts that are worked on at once: what is held of them is bounded.
_AT_ONCE = 20_000
_PROBABILITIES = 1 << 24


@dataclass(frozen=True, eq=False, repr=False)
class Classifier:
    """Words, labels, and their rows.

    >>> classifier = Classifier.load("topics")
    >>> classifier.predict(["an early exit for the champion"], k=2)
    [[("sports", 0.97), ("politics", 0.02)]]
    """

    words: tuple[str, ...]
    labels: tuple[str, ...]
    inputs: Matrix
    """The row of a text's end, one for each word, and those of the n-grams."""
    outputs: Matrix
    """A row for each label."""
    buckets: NDArray[np.int32]
    """The n-gram buckets that have rows, in order."""
    options: Options
    counts: NDArray[np.int64]
    label_counts: NDArray[np.int64]
    about: Mapping[str, Any] = field(default_factory=dict)
    """What training noted: texts, losses, speed."""

    def __post_init__(self) -> None:
        rows = len(self.words) + 1 + len(self.buckets)
        wanted = {
            "inputs": (self.inputs.shape, (rows, self.options.dim)),
            "outputs": (self.outputs.shape, (len(self.labels), self.options.dim)),
            "counts": (self.counts.shape, (len(self.words),)),
            "label_counts": (self.label_counts.shape, (len(self.labels),)),
        }
        for name, (found, expected) in wanted.items():
            if found != expected:
                raise ClassifierError(
                    f"{name} of a classifier has the shape {found}, not {expected}"
                )
        top = self.options.bucket
        if len(self.buckets) and not (
            self.buckets[0] >= 0
            and self.buckets[-1] < top
            and (np.diff(self.buckets) > 0).all()
        ):
            raise ClassifierError(f"the buckets of n-grams are not within {top:,}")
        if not self.labels:
            raise ClassifierError("a classifier without labels")

    def __repr__(self) -> str:
        return (
            f"<Classifier: {len(self.labels):,} labels, {len(self.words):,} words, "
            f"{len(self.buckets):,} n-grams, dimension {self.options.dim}>"
        )

    # Questions ----------------------------------------------------------------

    def predict(
        self, texts: str | Iterable[str], k: int = 1, threshold: float = 0.0
    ) -> list[Prediction]:
        """For each text its `k` likeliest labels, those not below `threshold`."""
        _check(k, threshold)
        texts = [texts] if isinstance(texts, str) else texts
        found: list[Prediction] = []
        for chances in self._chances(([], one_line(text)) for text in texts):
            top, kept = likeliest(chances, k, threshold)
            found += [
                [(self.labels[i], float(row[i])) for i in best[:count]]
                for row, best, count in zip(chances, top, kept, strict=True)
            ]
        return found

    def probabilities(self, texts: str | Iterable[str]) -> Matrix:
        """The probability of every label, in the order of `labels`, for each text."""
        texts = [texts] if isinstance(texts, str) else texts
        parts = list(self._chances(([], one_line(text)) for text in texts))
        empty = np.empty((0, len(self.labels)), np.float32)
        return np.concatenate([empty, *parts])

    def test(
        self,
        data: Any,
        k: int = 1,
        threshold: float = 0.0,
        *,
        format: str | None = None,  # noqa: A002
        label: Column | None = None,
        text: Column | tuple[Column, ...] = (),
    ) -> Scores:
        """How well the labels of other examples are found: see `score`."""
        from feedline.words.classify.score import Tester

        _check(k, threshold)
        tester = Tester(self.labels, k, threshold)
        for encoded in self._encoded(
            examples(data, format, label, text), labelled=True
        ):
            for start, chances in self._of(encoded):
                tester.add(encoded, start, chances)
        return tester.scores()

    def vectors(self) -> Vectors:
        """The words' rows as word vectors."""
        rows = np.array(self.inputs[1 : len(self.words) + 1])
        return Vectors(self.words, rows, self.counts)

    # How ----------------------------------------------------------------------

    def _chances(self, texts: Iterable[Example]) -> Iterator[Matrix]:
        for encoded in self._encoded(texts, labelled=False):
            for _, chances in self._of(encoded):
                yield chances

    def _encoded(
        self, texts: Iterable[Example], *, labelled: bool
    ) -> Iterator[Encoded]:
        """The texts as numbers, many at a time."""
        rest = iter(texts)
        while some := list(islice(rest, _AT_ONCE)):
            yield encode(
                some,
                self._numbers,
                lower=self.options.lower,
                pattern=self.options.pattern,
                labelled=labelled,
                threads=1,
            )

    def _of(self, encoded: Encoded) -> Iterator[tuple[int, Matrix]]:
        """Probabilities, and the number of the first text that they are of."""
        x, w, slots = self._ready
        words, dim = len(self.words), self.options.dim
        bag = bags.bags(encoded.texts, words, self.options.word_ngrams, slots)
        many = max(1, _PROBABILITIES // len(self.labels))
        for start in range(0, len(bag), many):
            offsets = bag.offsets[start : start + many + 1]
            chances = np.empty((len(offsets) - 1, len(self.labels)), np.float32)
            kernel.probabilities(
                offsets,
                bag.ids,
                x.reshape(-1),
                w.reshape(-1),
                x.shape[1],
                depth_of(dim, WIDTH),
                len(self.labels),
                bag.widest,
                chances,
            )
            yield start, chances

    @cached_property
    def _ready(self) -> tuple[Matrix, Matrix, NDArray[np.int32]]:
        """The rows as the kernel wants them, and the place of each bucket."""
        x = blank(len(self.inputs), self.options.dim, WIDTH)
        x[:-1, : self.options.dim] = self.inputs
        w = blank_outputs(len(self.labels), self.options.dim)
        w[: len(self.labels), : self.options.dim] = self.outputs
        return x, w, bags.slots_of(self.buckets, self.options.bucket)

    @cached_property
    def _index(self) -> dict[bytes, int]:
        return {word.encode(): number for number, word in enumerate(self.words)}

    def _numbers(self, counted: Counted) -> NDArray[np.int32]:
        seen = counted.table.words(np.arange(len(counted.table)))
        index = self._index
        return np.array([index.get(word, -1) for word in seen], np.int32)

    # Files --------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], force: bool = False) -> Path:
        """Save as a directory; an earlier one is replaced only with `force`."""
        from feedline.words.classify import directory

        return directory.write(self, path, force=force)

    def export(self, path: str | os.PathLike[str], force: bool = False) -> Path:
        """Write a SavedModel, texts in, probabilities out: see graph.py."""
        from feedline.words.formats import savedmodel

        place = Path(path).absolute()
        savedmodel.check(place, force=force)
        try:
            from feedline.words.classify.graph import Model
        except ImportError:
            raise TensorFlowMissing from None
        model = Model(self)
        savedmodel.save(model, model.serve, place)
        return place

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Classifier:
        """A classifier from the directory that `save` wrote."""
        from feedline.words.classify import directory

        return directory.read(path)


def blank_outputs(classes: int, dim: int) -> Matrix:
    """Output rows of zeros, in whole tiles: see kernel.py."""
    return blank(-(-classes // TILE) * TILE, dim, WIDTH)


def likeliest(
    chances: Matrix, k: int, threshold: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The `k` likeliest labels of each row, best first, and how many of them count."""
    k = min(k, chances.shape[1])
    top = np.argsort(-chances, axis=1, kind="stable")[:, :k]
    kept = (np.take_along_axis(chances, top, axis=1) >= threshold).sum(axis=1)
    return top, kept


def examples(
    data: Any,
    format: str | None = None,  # noqa: A002
    label: Column | None = None,
    text: Column | tuple[Column, ...] = (),
) -> Iterable[Example]:
    """Files, or pairs of texts and labels, as examples."""
    columns = (text,) if isinstance(text, str | int) else tuple(text)
    layout = Layout(format, label, columns)
    if isinstance(data, str | Path):
        return FileExamples(data, layout)
    if isinstance(data, bytes) or not isinstance(data, Iterable):
        raise ClassifierError(
            f"{data!r} is a {type(data).__name__}. Give a file name, several, or pairs "
            "of a text and its label."
        )
    listed = list(data)
    if listed and all(isinstance(item, str | Path) for item in listed):
        return FileExamples(listed, layout)
    return from_pairs(listed)


def _check(k: int, threshold: float) -> None:
    if k < 1:
        raise ClassifierError(f"the {k} likeliest labels are none: give k of 1 or more")
    if not 0 <= threshold <= 1:
        raise ClassifierError(
            f"the threshold is {threshold}, and probabilities lie between 0 and 1"
        )
