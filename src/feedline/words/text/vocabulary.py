"""The words that vectors are trained for, and how often each was seen.

On disk a vocabulary is text: one `word count` per line, in the order of the ids,
and a last line `# raw_tokens N` (three fields, so it is no word). It is read and
written as bytes: lines end at a line feed and nowhere else, because a word may
hold characters that Python calls a line's end (U+2028, U+0085).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from feedline.errors import CorpusError
from feedline.words.text.unwritable import write

# What ends a word: these bytes and no others. It is what `bytes.split()` takes.
WHITESPACE = b" \t\n\r\x0b\x0c"


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Words by id: most frequent first, ties in the order of their UTF-8 bytes."""

    words: tuple[str, ...]
    counts: NDArray[np.int64]
    raw_tokens: int
    """All tokens that were seen, kept or not."""

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.index

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return (
            self.words == other.words
            and self.raw_tokens == other.raw_tokens
            and np.array_equal(self.counts, other.counts)
        )

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def index(self) -> Mapping[str, int]:
        """The id of each word."""
        return {word: number for number, word in enumerate(self.words)}

    @property
    def tokens(self) -> int:
        """Kept tokens in one pass over the corpus."""
        return int(self.counts.sum())

    def as_bytes(self) -> bytes:
        """The text that `save` writes."""
        lines = [
            f"{word} {count}\n"
            for word, count in zip(self.words, self.counts.tolist(), strict=True)
        ]
        return "".join([*lines, f"# raw_tokens {self.raw_tokens}\n"]).encode()

    def save(self, path: Path) -> None:
        """Write the text, whole or not at all."""
        write(Path(path), self.as_bytes())

    @classmethod
    def load(cls, path: Path) -> Vocabulary:
        """Read what `save` wrote, or any text of `word count` lines."""
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise CorpusError(
                f"the vocabulary {path} cannot be read: {error.strerror or error}. "
                "Give a file of lines `word count`."
            ) from error
        return cls.parse(data, str(path))

    @classmethod
    def parse(cls, data: bytes, name: str) -> Vocabulary:
        """The vocabulary in the text `data`; `name` is for the messages."""
        quick = cls._parse_own(data)
        if quick is not None:
            return quick
        lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
        words: list[str] = []
        counts: list[int] = []
        raw_tokens: int | None = None
        seen: dict[str, int] = {}
        for number, line in enumerate(lines, 1):
            fields = line.split()
            if not fields:
                continue
            if len(fields) == 3 and fields[:2] == [b"#", b"raw_tokens"]:
                raw_tokens = _count(fields[2], name, number)
                continue
            if len(fields) != 2:
                raise CorpusError(
                    f"{name}, line {number}: {_shown(line)} is not `word count`. A "
                    "vocabulary has one word and its count on each line."
                )
            try:
                word = fields[0].decode()
            except UnicodeDecodeError as error:
                raise CorpusError(
                    f"{name}, line {number}: the word is not UTF-8 ({error.reason} at "
                    f"byte {error.start}). Save the vocabulary as UTF-8."
                ) from error
            if word in seen:
                raise CorpusError(
                    f"{name}, line {number}: {word!r} stands on line {seen[word]} "
                    "already. Remove one of the two."
                )
            seen[word] = number
            words.append(word)
            counts.append(_count(fields[1], name, number))
        if not words:
            raise CorpusError(
                f"the vocabulary {name} has no words in it. Give a file of lines "
                "`word count`."
            )
        total = sum(counts)
        if total > np.iinfo(np.int64).max:
            raise CorpusError(f"{name}: the counts add up to {total}, beyond 64 bits.")
        return cls(
            tuple(words),
            np.array(counts, dtype=np.int64),
            total if raw_tokens is None else raw_tokens,
        )

    @classmethod
    def _parse_own(cls, data: bytes) -> Vocabulary | None:
        """What `as_bytes` gives, read without a look at each line; None for others."""
        body, mark, last = data.rpartition(b"# raw_tokens ")
        fields = body.split()
        words, counts = fields[::2], fields[1::2]
        if not (words and mark and len(words) == len(counts) == len(set(words))):
            return None
        if not (last[:-1].isdigit() and b"".join(counts).isdigit()):
            return None
        if max(map(len, [*counts, last])) > 16:
            return None
        try:
            texts = tuple(b"\n".join(words).decode().split("\n"))
        except UnicodeDecodeError:
            return None
        numbers = np.array(counts).astype(np.int64)
        if numbers.sum(dtype=np.float64) > 1e18:
            return None
        found = cls(texts, numbers, int(last))
        # This alone makes it certain that nothing was taken for something else.
        return found if found.as_bytes() == data else None


def ranked(
    words: Sequence[bytes], counts: NDArray[np.int64], limit: int | None = None
) -> list[int]:
    """Positions of the words, most frequent first, ties by bytes, `limit` at most."""
    by_bytes = np.array(sorted(range(len(words)), key=words.__getitem__), np.int64)
    order = by_bytes[np.argsort(-counts[by_bytes], kind="stable")]
    return [int(position) for position in order[:limit]]


def _count(field: bytes, name: str, line: int) -> int:
    if not field.isdigit() or len(field) > 18:
        raise CorpusError(
            f"{name}, line {line}: the count is {_shown(field)}, not a whole number "
            "from 0 up."
        )
    return int(field)


def _shown(text: bytes) -> str:
    shown = text.decode("utf-8", "replace")
    return repr(shown if len(shown) <= 60 else shown[:57] + "...")
