"""`Vectors`: words and their vectors, and the questions people ask of them.

It knows no trainer: it is what training gives, what a file of vectors is read
into, and what `similar`, `analogy` and `evaluate` work on. Reading and writing
live in `formats`, the search itself in `search`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from feedline.errors import UnknownWord, VectorsError
from feedline.words.vectors import search
from feedline.words.vectors.spelling import close_words
from feedline.words.vectors.subwords import Subwords

if TYPE_CHECKING:
    from feedline.words.vectors.evaluation import Evaluation
    from feedline.words.vectors.index import Index

Row = NDArray[np.float32]
Neighbours = list[tuple[str, float]]


@dataclass(frozen=True, eq=False, repr=False)
class Vectors:
    """Words, most frequent first where counts are known, and a row for each.

    >>> vectors = Vectors.load("vectors")
    >>> vectors["king"]                        # the row, float32
    >>> vectors.similar("king")                # [("queen", 0.78), ...]
    >>> vectors.analogy(["king", "woman"], ["man"])
    """

    words: tuple[str, ...]
    matrix: NDArray[np.float32]
    counts: NDArray[np.int64] | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    subwords: Subwords | None = None

    def __post_init__(self) -> None:
        matrix = np.asanyarray(self.matrix)
        if matrix.ndim != 2 or matrix.shape[1] < 1:
            raise VectorsError(
                f"vectors need a matrix of words by dimension, not one of shape "
                f"{matrix.shape}"
            )
        if matrix.dtype != np.float32:
            matrix = matrix.astype(np.float32)
        words = tuple(self.words)
        _same(len(words), len(matrix), "rows in the matrix")
        if self.counts is not None:
            counts = np.asarray(self.counts, np.int64)
            _same(len(words), len(counts), "counts")
            object.__setattr__(self, "counts", counts)
        if self.subwords is not None and self.subwords.matrix.shape[1] != self.dim:
            raise VectorsError(
                f"words have {self.dim} dimensions and their subwords "
                f"{self.subwords.matrix.shape[1]}: they must be of one model"
            )
        object.__setattr__(self, "words", words)
        object.__setattr__(self, "matrix", matrix)

    # Look-up ------------------------------------------------------------------

    @property
    def dim(self) -> int:
        return int(self.matrix.shape[1])

    @cached_property
    def index(self) -> Mapping[str, int]:
        """The row of each word."""
        found = dict(zip(self.words, range(len(self.words)), strict=True))
        if len(found) != len(self.words):
            twice = next(w for i, w in enumerate(self.words) if found[w] != i)
            raise VectorsError(
                f"the word {twice!r} is among the words twice: every word may "
                "have one row only"
            )
        return found

    @cached_property
    def norms(self) -> NDArray[np.float32]:
        """The length of each row."""
        return search.norms(self.matrix)

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        """Is the word in the vocabulary? Subwords do not count."""
        return word in self.index

    def __getitem__(self, word: str) -> Row:
        """The word's vector; from its subwords where it has no row."""
        row = self.index.get(word)
        if row is not None:
            return np.asarray(self.matrix[row])
        if self.subwords is not None:
            return self.subwords.vector(word)
        raise UnknownWord(self._unknown(word))

    def __repr__(self) -> str:
        more = (
            f", {self.subwords.buckets:,} subwords" if self.subwords is not None else ""
        )
        return f"<Vectors: {len(self):,} words, dimension {self.dim}{more}>"

    @overload
    def lookup(self, words: Sequence[str]) -> NDArray[np.float32]: ...

    @overload
    def lookup(self, words: Any) -> Any: ...

    def lookup(self, words: Any) -> Any:
        """The vectors of many words, a row for each.

        A tensor of words, of any shape or ragged, gives a tensor, also inside a
        `tf.function`: there a word without a vector is zeros, not an error.
        """
        if type(words).__module__.split(".")[0] == "tensorflow":
            return self._graph(words)
        rows = [self.index.get(word, -1) for word in words]
        if not rows:
            return np.empty((0, self.dim), np.float32)
        found = np.asarray(self.matrix[rows])
        for i, row in enumerate(rows):
            if row < 0:
                found[i] = self[words[i]]
        return found

    @cached_property
    def _graph(self) -> Any:
        from feedline.words.vectors.graph import Lookup

        return Lookup(self)

    def mean(self, words: Sequence[str]) -> Row:
        """The mean of the words' vectors, each scaled to length 1 first."""
        if not words:
            raise VectorsError("the mean needs at least one word")
        total = search.unit(self.lookup(words)).mean(axis=0)
        return np.asarray(total, np.float32)

    def _unknown(self, word: object) -> str:
        text = f"the vocabulary of {len(self):,} words has no {word!r}"
        near = close_words(str(word), self.words, self.index)
        return text + (f"; did you mean {', '.join(near)}?" if near else "")

    # Questions ----------------------------------------------------------------

    def similarity(self, first: str, second: str) -> float:
        """The cosine of two words, from -1 to 1."""
        pair = search.unit(self.lookup([first, second]))
        return float(pair[0] @ pair[1])

    def distance(self, first: str, second: str) -> float:
        """1 minus the cosine of two words, from 0 to 2."""
        return 1.0 - self.similarity(first, second)

    def similar(
        self,
        word_or_vector: str | NDArray[np.floating[Any]],
        n: int = 10,
        restrict: int | None = None,
        index: Index | None = None,
    ) -> Neighbours:
        """The `n` words nearest by cosine, nearest first; never the word itself.

        `restrict` looks among the first so many words only, which are the most
        frequent. With an `index` (see `build_index`) the search is approximate.
        """
        if isinstance(word_or_vector, str):
            query, known = self[word_or_vector], [word_or_vector]
        else:
            query, known = self._vector(word_or_vector), []
        return self._nearest(query, known, n, restrict, index)

    def analogy(
        self,
        positive: str | Sequence[str],
        negative: str | Sequence[str] = (),
        n: int = 10,
        restrict: int | None = None,
    ) -> Neighbours:
        """The words nearest to the sum of `positive` less that of `negative`.

        >>> vectors.analogy(["king", "woman"], ["man"])   # king - man + woman

        Every word counts by its direction alone; the words given are no answer.
        """
        plus = [positive] if isinstance(positive, str) else list(positive)
        minus = [negative] if isinstance(negative, str) else list(negative)
        if not plus and not minus:
            raise VectorsError('an analogy needs words, as in "king - man + woman"')
        units = search.unit(self.lookup([*plus, *minus]))
        query = units[: len(plus)].sum(axis=0) - units[len(plus) :].sum(axis=0)
        return self._nearest(query, [*plus, *minus], n, restrict)

    def doesnt_match(self, words: Sequence[str]) -> str:
        """The word farthest from the mean of all the given ones."""
        if isinstance(words, str):
            words = words.split()
        if len(words) < 2:
            raise VectorsError(
                f"which of {len(words)} words does not match? Give three or more"
            )
        units = search.unit(self.lookup(words))
        return words[int(np.argmin(units @ units.mean(axis=0)))]

    def evaluate(
        self,
        analogies: str | os.PathLike[str] | None = None,
        pairs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
        **options: Any,
    ) -> Evaluation:
        """Scores on files of analogies and of word pairs: see `evaluation`."""
        from feedline.words.vectors.evaluation import evaluate

        return evaluate(self, analogies, pairs, **options)

    def build_index(self, **options: Any) -> Index:
        """An approximate index (usearch) for many searches in many words."""
        from feedline.words.vectors.index import Index

        return Index.build(self, **options)

    def _vector(self, value: NDArray[np.floating[Any]]) -> Row:
        vector = np.asarray(value, np.float32)
        if vector.shape != (self.dim,):
            raise VectorsError(
                f"a vector of shape {vector.shape} cannot be compared with words of "
                f"dimension {self.dim}: give one of shape ({self.dim},)"
            )
        return vector

    def _nearest(
        self,
        query: Row,
        known: Sequence[str],
        n: int,
        restrict: int | None,
        index: Index | None = None,
    ) -> Neighbours:
        rows = [self.index[word] for word in known if word in self.index]
        if index is not None:
            ids, scores = index.nearest(query, n, rows, restrict)
        else:
            top = search.nearest(
                self.matrix, self.norms, query[None], n, [rows], restrict
            )
            ids, scores = top[0][0], top[1][0]
        return [
            (self.words[i], float(score))
            for i, score in zip(ids, scores, strict=True)
            if i >= 0
        ]

    def first(self, n: int | None) -> Vectors:
        """Only the first words, which are the most frequent; all where `n` is None."""
        if n is None or n >= len(self):
            return self
        counts = None if self.counts is None else self.counts[:n]
        return Vectors(
            self.words[:n], self.matrix[:n], counts, self.config, self.subwords
        )

    # Files and other libraries ------------------------------------------------

    def save(self, path: str | os.PathLike[str], force: bool = False) -> Path:
        """Save as a directory; an earlier one is replaced only with `force`."""
        from feedline.words.formats import feedline

        return feedline.write(self, path, force=force)

    @classmethod
    def load(cls, path: str | os.PathLike[str], format: str | None = None) -> Vectors:  # noqa: A002
        """Vectors from a saved directory, or from any file that can be read."""
        from feedline.words import formats

        return formats.read(path, format)

    def export(
        self,
        path: str | os.PathLike[str],
        format: str | None = None,  # noqa: A002
        force: bool = False,
    ) -> Path:
        """Write for another program; the format is guessed from the name."""
        from feedline.words import formats

        return formats.write(self, path, format, force=force)

    def layer(
        self, *, trainable: bool = False, strings: bool = False, **options: Any
    ) -> Any:
        """A Keras `Embedding` whose row `i` is the vector of `words[i]`.

        With `strings` it takes the words themselves: a `StringLookup` and the
        `Embedding`, whose row 0 is for all unknown words and begins as zeros. A
        model that starts with it needs `keras.Input((None,), dtype="string")`.

        A frozen layer, the default, costs an optimizer nothing. One that trains is
        rewritten whole in every step by most optimizers; after
        `feedline.rows.install(model)` only the rows that a batch names are.
        `options` go to `keras.layers.Embedding`.
        """
        from feedline.words.formats.keras import layer

        return layer(self, trainable=trainable, strings=strings, **options)

    def to_gensim(self) -> Any:
        """The same as gensim's KeyedVectors."""
        from feedline.words.formats.gensim import to_gensim

        return to_gensim(self)

    @classmethod
    def from_gensim(cls, source: Any) -> Vectors:
        """Vectors from gensim's KeyedVectors, or from a model that has them."""
        from feedline.words.formats.gensim import from_gensim

        return from_gensim(source)


def _same(words: int, others: int, what: str) -> None:
    if words != others:
        raise VectorsError(f"{words:,} words but {others:,} {what}: one for each")
