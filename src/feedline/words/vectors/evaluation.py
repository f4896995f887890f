"""How good vectors are: analogies solved, and agreement with human judgements.

Both tests read the files that gensim ships and give gensim's numbers for the same
vectors; where it has quirks (words compared in upper case, five guesses, of which
the first that is not a question word counts) they are kept. It is faster because
all questions of a block are one matrix product.

    analogies   `: section` lines, then `man king woman queen` lines
    pairs       `word<TAB>word<TAB>score` lines; `#` begins a comment
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from feedline.errors import FeedlineError
from feedline.words.vectors import correlation, search
from feedline.words.vectors.vectors import Vectors

PathLike = str | os.PathLike[str]

RESTRICT = 300_000
# Scores held at once: 8 million are 32 MB.
_SCORES = 8_000_000
_GUESSES = 5


@dataclass(frozen=True)
class Section:
    """The questions of one kind: how many, how many solved, how many not asked."""

    name: str
    correct: int
    questions: int
    unknown: int
    """Questions with a word that the vocabulary lacks. They are no part of
    `questions`, unless they were asked to count as wrong."""

    @property
    def accuracy(self) -> float:
        return self.correct / self.questions if self.questions else 0.0


@dataclass(frozen=True)
class Analogies:
    """The answers to a file of analogies."""

    sections: tuple[Section, ...]
    skipped: int
    """Lines that are no question of four words."""

    @property
    def total(self) -> Section:
        return _sum("total", self.sections)

    @property
    def semantic(self) -> Section:
        """The sections of meaning: those whose name does not begin with `gram`."""
        chosen = [s for s in self.sections if not s.name.startswith("gram")]
        return _sum("semantic", chosen)

    @property
    def syntactic(self) -> Section:
        """The sections of grammar, whose names begin with `gram`."""
        chosen = [s for s in self.sections if s.name.startswith("gram")]
        return _sum("syntactic", chosen)

    @property
    def accuracy(self) -> float:
        return self.total.accuracy


@dataclass(frozen=True)
class Pairs:
    """Agreement with a file of word pairs that people scored."""

    name: str
    spearman: float
    """Correlation of the ranks: the usual figure."""
    pearson: float
    pairs: int
    unknown: int
    """Pairs with a word that the vocabulary lacks."""
    skipped: int
    p_value: float | None = None
    """Of the Spearman correlation; None where SciPy is not installed."""


@dataclass(frozen=True)
class Evaluation:
    """Everything that was asked."""

    analogies: Analogies | None
    pairs: tuple[Pairs, ...]


def evaluate(
    vectors: Vectors,
    analogies: PathLike | None = None,
    pairs: PathLike | Sequence[PathLike] = (),
    *,
    restrict: int = RESTRICT,
    case_insensitive: bool = True,
    dummy4unknown: bool = False,
) -> Evaluation:
    """Both tests; each only where a file is given. The options are gensim's."""
    files = [pairs] if isinstance(pairs, (str, os.PathLike)) else list(pairs)
    options = (restrict, case_insensitive, dummy4unknown)
    return Evaluation(
        None if analogies is None else solve_analogies(vectors, analogies, *options),
        tuple(compare_pairs(vectors, file, *options) for file in files),
    )


def solve_analogies(
    vectors: Vectors,
    path: PathLike,
    restrict: int = RESTRICT,
    case_insensitive: bool = True,
    dummy4unknown: bool = False,
) -> Analogies:
    """Is `b - a + c` nearest to `d`, for each line `a b c d` of the file?

    Only the first `restrict` words are looked at, as question and as answer.
    Questions with other words are left out; `dummy4unknown` counts them as wrong.
    """
    known = _Known.of(vectors, restrict, case_insensitive)
    names: list[str] = []
    asked: list[list[int]] = []
    section_of: list[int] = []
    unknown: list[int] = []
    skipped = 0
    for number, line in _lines(path):
        if line.startswith(": "):
            names.append(line.lstrip(": ").strip())
            unknown.append(0)
            continue
        if not line.strip():
            continue
        if not names:
            raise FeedlineError(
                f"cannot read {path}: line {number} is before the first section. "
                "A file of analogies begins with a line such as ': capitals'"
            )
        fields = line.split()
        if len(fields) != 4:
            skipped += 1
            continue
        rows = [known.index.get(known.key(word), -1) for word in fields]
        if min(rows) < 0:
            unknown[-1] += 1
        else:
            asked.append(rows)
            section_of.append(len(names) - 1)
    if not names:
        raise FeedlineError(
            f"cannot read {path}: it has no line such as ': capitals', with which the "
            "sections of a file of analogies begin"
        )
    right = _solve(vectors, known, np.array(asked, np.int64).reshape(-1, 4))
    sections = np.array(section_of, np.int64)
    done = np.bincount(sections, minlength=len(names))
    correct = np.bincount(sections[right], minlength=len(names))
    return Analogies(
        tuple(
            Section(
                name,
                int(correct[i]),
                int(done[i]) + (unknown[i] if dummy4unknown else 0),
                unknown[i],
            )
            for i, name in enumerate(names)
        ),
        skipped,
    )


def compare_pairs(
    vectors: Vectors,
    path: PathLike,
    restrict: int = RESTRICT,
    case_insensitive: bool = True,
    dummy4unknown: bool = False,
) -> Pairs:
    """How the cosines of the pairs go with the scores that people gave.

    Pairs with a word beyond the first `restrict` are left out; `dummy4unknown`
    gives them the similarity 0.
    """
    known = _Known.of(vectors, restrict, case_insensitive)
    rows: list[tuple[int, int]] = []
    scores: list[float] = []
    unknown_scores: list[float] = []
    skipped = 0
    for _, line in _lines(path):
        if line.startswith("#"):
            continue
        fields = _fields(line)
        try:
            first, second, score = fields[0], fields[1], float(fields[2])
            valid = len(fields) == 3 and np.isfinite(score)
        except (ValueError, IndexError):
            valid = False
        if not valid:
            skipped += bool(line.strip())
            continue
        pair = [known.index.get(known.key(word), -1) for word in (first, second)]
        if min(pair) < 0:
            unknown_scores.append(score)
        else:
            rows.append((pair[0], pair[1]))
            scores.append(score)
    pairs = np.array(rows, np.int64).reshape(-1, 2)
    firsts = search.unit(np.asarray(vectors.matrix[pairs[:, 0]]))
    seconds = search.unit(np.asarray(vectors.matrix[pairs[:, 1]]))
    cosines = np.einsum("ij,ij->i", firsts, seconds)
    if dummy4unknown:
        cosines = np.concatenate([cosines, np.zeros(len(unknown_scores), np.float32)])
        scores += unknown_scores
    if len(scores) < 2:
        raise FeedlineError(
            f"cannot compare with {path}: {len(scores)} of its pairs are in the "
            f"vocabulary ({len(unknown_scores)} are not, {skipped} lines are not "
            "pairs). A pair is `word<TAB>word<TAB>score`; is it of the right language?"
        )
    ranks = correlation.spearman(np.array(scores), cosines)
    return Pairs(
        Path(path).name,
        ranks,
        correlation.pearson(np.array(scores), cosines),
        len(scores),
        len(unknown_scores),
        skipped,
        correlation.p_value(ranks, len(scores)),
    )


@dataclass(frozen=True, eq=False)
class _Known:
    """The words that count, by the form in which they are compared."""

    index: Mapping[str, int]
    upper: bool
    rows: int

    @classmethod
    def of(cls, vectors: Vectors, restrict: int, case_insensitive: bool) -> _Known:
        rows = min(search.limit(restrict), len(vectors))
        words = vectors.words[:rows]
        forms = [word.upper() for word in words] if case_insensitive else list(words)
        # Of several forms of one word the first, the most frequent, counts.
        index = dict(zip(reversed(forms), range(rows - 1, -1, -1), strict=True))
        return cls(index, case_insensitive, rows)

    def key(self, word: str) -> str:
        return word.upper() if self.upper else word


def _solve(
    vectors: Vectors, known: _Known, asked: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Which questions are solved."""
    right = np.zeros(len(asked), np.bool_)
    matrix, norms = vectors.matrix[: known.rows], vectors.norms[: known.rows]
    scale = np.where(norms > 0, norms, 1)
    step = max(1, _SCORES // max(1, known.rows))
    for start in range(0, len(asked), step):
        block = asked[start : start + step]
        a, b, c, d = block.T
        units = [search.unit(np.asarray(matrix[rows])) for rows in (a, b, c)]
        scores = search.unit(units[1] + units[2] - units[0]) @ matrix.T
        scores /= scale
        for rows in (a, b, c):
            scores[np.arange(len(block)), rows] = -np.inf
        best = scores.argmax(axis=1)
        right[start : start + step] = best == d
        for i in np.flatnonzero(best != d):
            right[start + i] = _guessed(vectors, known, block[i], best[i], scores[i])
    return right


def _guessed(
    vectors: Vectors,
    known: _Known,
    question: NDArray[np.int64],
    best: np.int64,
    scores: NDArray[np.float32],
) -> bool:
    """Is it solved all the same, the best being another form of a question word?

    gensim takes, of the five best, the first that is none ("Paris" for "paris").
    """
    words, index = vectors.words, known.index
    ignored = set(question[:3].tolist())
    if index[known.key(words[best])] not in ignored:
        # Another spelling of the answer is the answer.
        return bool(index[known.key(words[best])] == question[3])
    most = min(_GUESSES, len(scores) - len(ignored))
    guess = -1
    for row in np.argsort(-scores, kind="stable")[:most]:
        guess = index[known.key(words[row])]
        if guess not in ignored:
            break
    return bool(guess == question[3])


def _sum(name: str, sections: Sequence[Section]) -> Section:
    return Section(
        name,
        sum(s.correct for s in sections),
        sum(s.questions for s in sections),
        sum(s.unknown for s in sections),
    )


def _fields(line: str) -> list[str]:
    """Tabs, as in gensim's files; else spaces, commas or semicolons."""
    if "\t" in line:
        return line.split("\t")
    return line.replace(",", " ").replace(";", " ").split()


def _lines(path: PathLike) -> Iterator[tuple[int, str]]:
    from feedline.words.formats.shared.source import opened

    with opened(path) as source:
        data = b"".join(source.blocks())
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FeedlineError(
            f"cannot read {path}: byte {error.start:,} is not UTF-8 text"
        ) from None
    yield from enumerate(text.split("\n"), 1)
