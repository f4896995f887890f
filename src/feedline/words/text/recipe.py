"""What is to be made of a corpus: which words are kept, which phrases are joined."""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feedline.errors import CorpusError
from feedline.words.text.counting import Counted
from feedline.words.text.phrases import Phrases
from feedline.words.text.shards import FORMAT
from feedline.words.text.table import LONGEST
from feedline.words.text.vocabulary import Vocabulary, ranked

# A table may hold this many words for each that is kept before it forgets the
# rarest; and never fewer than the second figure, which costs about 100 MB.
_WORDS_PER_KEPT = 8
_LEAST_BOUND = 1_000_000


@dataclass(frozen=True)
class Recipe:
    """The choices that `prepare` is given."""

    min_count: int
    max_vocab: int | None
    phrases: Phrases
    vocabulary: Vocabulary | None

    def __post_init__(self) -> None:
        if self.min_count < 1:
            raise CorpusError(f"min_count is {self.min_count}: give 1 or more.")
        if self.max_vocab is not None and self.max_vocab < 1:
            raise CorpusError(
                f"max_vocab is {self.max_vocab}: give 1 or more, or none."
            )

    @property
    def bound(self) -> int | None:
        """Words that a table may hold before it forgets the rarest."""
        if self.max_vocab is None or self.vocabulary is not None:
            return None
        return max(_WORDS_PER_KEPT * self.max_vocab, _LEAST_BOUND)

    def fingerprint(self, text: dict[str, Any] | None) -> dict[str, Any] | None:
        """What makes the outcome the same for the text with that fingerprint."""
        if text is None:
            return None
        given = self.vocabulary
        recipe = {
            "corpus": text,
            "min_count": self.min_count,
            "max_vocab": self.max_vocab,
            "phrases": asdict(self.phrases) if self.phrases.passes else None,
            "vocabulary": None if given is None else zlib.crc32(given.as_bytes()),
            "format": FORMAT,
        }
        # As it comes back from the manifest, to be compared with that.
        return dict(json.loads(json.dumps(recipe)))

    def chosen(self, counted: Counted) -> tuple[Vocabulary, NDArray[np.int32]]:
        """The vocabulary, and the id of each word of the table, or -1."""
        if self.vocabulary is not None:
            return self.vocabulary, _given_ids(self.vocabulary, counted)
        table = counted.table
        counts = table.counts[: len(table)]
        kept = np.flatnonzero(counts >= self.min_count)
        if not len(kept):
            raise self._nothing_left(counted)
        words = table.words(kept)
        order = ranked(words, counts[kept], self.max_vocab)
        ids_of = np.full(len(table), -1, np.int32)
        ids_of[kept[order]] = np.arange(len(order), dtype=np.int32)
        vocabulary = Vocabulary(
            tuple(words[i].decode() for i in order), counts[kept[order]], counted.tokens
        )
        return vocabulary, ids_of

    def _nothing_left(self, counted: Counted) -> CorpusError:
        table = counted.table
        first = int(table.counts[: len(table)].argmax())
        most = int(table.counts[first])
        word = table.words(np.array([first]))[0].decode()
        return CorpusError(
            f"no word is left: of {len(table):,} words in {counted.tokens:,} tokens "
            f"none was seen {self.min_count} times (min_count). The most frequent, "
            f"{word!r}, was seen {most:,} times: give min_count {most} or less."
        )


def _given_ids(vocabulary: Vocabulary, counted: Counted) -> NDArray[np.int32]:
    table = counted.table
    words = [word.encode("utf-8", "surrogatepass") for word in vocabulary.words]
    ids = [i for i, word in enumerate(words) if 0 < len(word) <= LONGEST]
    none = np.zeros(len(ids), np.int64)
    numbers = table.add_words([words[i] for i in ids], none)
    ids_of = np.full(len(table), -1, np.int32)
    ids_of[numbers] = ids
    return ids_of
