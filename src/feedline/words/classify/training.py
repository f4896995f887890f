"""Trains a classifier: examples in, `Classifier` out.

Texts are shuffled anew for each epoch, so a file that is sorted by label trains as
well as any other. The rate falls in a straight line from `lr` to 0. Threads share
the matrices without locks (kernel.py); with one thread a seed gives the same
classifier each time.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feedline.errors import CorpusError, TrainingError
from feedline.words.classify import bags
from feedline.words.classify.bags import Texts
from feedline.words.classify.classifier import Classifier, blank_outputs, examples
from feedline.words.classify.descent import Descent, Tell, copies, run
from feedline.words.classify.encoded import Encoded, encode
from feedline.words.classify.examples import Column  # noqa: F401  (for type hints)
from feedline.words.classify.options import Choices, Options, Request
from feedline.words.engine.simd import WIDTH
from feedline.words.engine.weights import Matrix, blank
from feedline.words.option import part, takes
from feedline.words.text.counting import Counted
from feedline.words.text.phrases import Phrases
from feedline.words.text.recipe import Recipe
from feedline.words.text.table import LONGEST
from feedline.words.training.driver import Progress
from feedline.words.vectors.vectors import Vectors

_log = logging.getLogger(__name__)

_CHUNK = 1 << 14


@takes(Request)
def train(request: Request) -> Classifier:
    """Train on labelled texts: files, or pairs of a text and its label or labels.

    The options are those of `feedline words classify train --help`, with the same
    defaults. `pretrained` are word vectors to start from, or where they are; words
    that only they have are kept too. `format`, `label` and `text` say how files are
    laid out: see examples.py.
    """
    progress = request.progress
    options = asdict(part(request, Choices))
    start = _pretrained(request.pretrained, options)
    chosen = Options.of(**options)
    vocabulary = _Vocabulary(chosen.min_count, start)
    read = encode(
        examples(request.data, request.format, request.label, request.text),
        vocabulary.choose,
        lower=chosen.lower,
        pattern=chosen.pattern,
        threads=chosen.threads,
        progress=_reading(progress),
    )
    _check(read)
    # The commonest label first, as words are: the order in which people read them.
    counts = np.bincount(read.labels.ids, minlength=len(read.names)).astype(np.int64)
    order = sorted(range(len(counts)), key=lambda i: (-counts[i], read.names[i]))
    new = np.empty(len(order), np.int32)
    new[order] = np.arange(len(order), dtype=np.int32)
    labels = Texts(read.labels.offsets, new[read.labels.ids])

    words = len(vocabulary.words)
    used = bags.used_buckets(read.texts, chosen.word_ngrams, chosen.bucket)
    slots = bags.slots_of(used, chosen.bucket)
    bag = bags.bags(read.texts, words, chosen.word_ngrams, slots)
    rows = 1 + words + len(used)
    try:
        inputs = _first_rows(rows, chosen, start, vocabulary)
    except MemoryError:
        raise TrainingError(
            f"{rows:,} rows of {chosen.dim} numbers do not fit into "
            "memory. Give a smaller dim, a smaller bucket or a larger min_count."
        ) from None
    outputs = blank_outputs(len(order), chosen.dim)
    task = Descent(chosen, bag, labels, inputs, outputs, rows, len(order))
    about = {
        **run(task, len(read.texts.ids), progress),
        "tokens": read.tokens,
        "unlabelled": read.unlabelled,
    }
    if start is not None:
        about["pretrained"] = len(start)
    return Classifier(
        tuple(vocabulary.words),
        tuple(read.names[i] for i in order),
        inputs[:rows, : chosen.dim],
        outputs[: len(order), : chosen.dim],
        used,
        chosen,
        vocabulary.counts,
        counts[order],
        about,
    )


# Before -----------------------------------------------------------------------


def _pretrained(
    given: Vectors | str | os.PathLike[str] | None, options: dict[str, Any]
) -> Vectors | None:
    if given is None:
        return None
    vectors = given if isinstance(given, Vectors) else Vectors.load(given)
    if options.get("dim") is None:
        options["dim"] = vectors.dim
    elif options["dim"] != vectors.dim:
        raise TrainingError(
            f"dim is {options['dim']}, and the pretrained vectors have {vectors.dim} "
            "numbers each: leave dim out."
        )
    return vectors


class _Vocabulary:
    """The words of the texts, most frequent first, then those of the vectors."""

    def __init__(self, min_count: int, start: Vectors | None) -> None:
        self._recipe = Recipe(min_count, None, Phrases(0), None)
        self._start = start
        self.words: list[str] = []
        self.counts: NDArray[np.int64] = np.empty(0, np.int64)

    def choose(self, counted: Counted) -> NDArray[np.int32]:
        if not len(counted.table):
            raise CorpusError(
                "there is nothing to learn from: no labelled text has a word in it. "
                "Labels look like __label__sports, or are in a column of a table."
            )
        found, ids_of = self._recipe.chosen(counted)
        self.words, self.counts = list(found.words), found.counts
        if self._start is not None:
            extra = [w for w in self._start.words if w not in found.index and _plain(w)]
            table = counted.table
            # Rare words of the texts that have a vector are known after all.
            numbers = table.add_words(
                [w.encode() for w in extra], np.zeros(len(extra), np.int64)
            )
            more = np.full(len(table), -1, np.int32)
            more[: len(ids_of)] = ids_of
            more[numbers] = np.arange(len(extra)) + len(self.words)
            ids_of = more
            self.words += extra
            self.counts = np.concatenate([self.counts, table.counts[numbers]])
        return ids_of


def _plain(word: str) -> bool:
    """Can it be met in a text: not empty, without whitespace, not too long?"""
    try:
        data = word.encode()
    except UnicodeEncodeError:
        return False
    return data.split() == [data] and len(data) <= LONGEST


def _check(read: Encoded) -> None:
    if read.unlabelled:
        _log.warning("%d texts have no label and were left out", read.unlabelled)
    if not len(read.texts):
        raise CorpusError(
            f"none of {read.unlabelled:,} texts has a label. Labels look like "
            "__label__sports, or are in a column of a table."
        )
    if len(read.names) < 2:
        raise CorpusError(
            f"all texts have the label {read.names[0]!r}: there is nothing to tell "
            "apart. Give texts of two labels or more."
        )


def _first_rows(
    rows: int, options: Options, start: Vectors | None, vocabulary: _Vocabulary
) -> Matrix:
    """fastText's start, within 1 / dim, and the vectors where there are any; after
    them room for the threads' own copies."""
    matrix = blank(rows + copies(options.threads, rows), options.dim, WIDTH)
    draw = np.random.default_rng([options.seed, 0])
    for low in range(0, rows, _CHUNK):
        high = min(rows, low + _CHUNK)
        values = draw.random((high - low, options.dim), dtype=np.float32)
        matrix[low:high, : options.dim] = (values * 2 - 1) / np.float32(options.dim)
    if start is not None:
        index = start.index
        words = enumerate(vocabulary.words, 1)
        places = [(row, index[word]) for row, word in words if word in index]
        to, of = np.array(places, np.int64).reshape(-1, 2).T
        matrix[to, : options.dim] = start.matrix[of]
    return matrix


def _reading(progress: Tell | None) -> Callable[[str, int, int | None], None] | None:
    if progress is None:
        return None
    return lambda stage, done, total: progress(Progress(stage, done, total))
