"""Words by a pattern, by the user's own callable, or split already.

Each becomes text of the plain kind, words with a space between and a line feed
after each sentence, so that one kernel (scan.py) counts and encodes them all. A
word must therefore hold no whitespace; one that does is an error, not two words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from feedline.errors import CorpusError
from feedline.words.text.scan import PADDING, Scanner
from feedline.words.text.table import Table
from feedline.words.text.vocabulary import WHITESPACE

Tokenizer = Callable[[str], Iterable[str]]

_REPLACEMENT = "\ufffd"


def compiled(pattern: str) -> re.Pattern[str]:
    """The regular expression of `pattern`, with an error that shows it."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise CorpusError(
            f"the pattern {pattern!r} is not a regular expression: {error}. A pattern "
            r"describes one word, for example '\w+'."
        ) from error


class LineTokeniser:
    """Cuts lines into words by a pattern or a callable; for one thread only."""

    def __init__(
        self, *, lower: bool, pattern: str | None, tokenize: Tokenizer | None
    ) -> None:
        self._lower = lower
        if tokenize is not None:
            self._words, self._what = _by_callable(tokenize), "tokenize"
        else:
            pattern = r"\S+" if pattern is None else pattern
            self._words = _by_pattern(pattern)
            self._what = f"the pattern {pattern!r}"
        self.invalid = 0

    def words(self, text: str) -> list[str]:
        """The words of a piece of text."""
        return self._words(text.lower() if self._lower else text)

    def plain(self, block: bytes) -> bytes:
        """The block as words with spaces between them, line by line."""
        text = block.decode("utf-8", "replace")
        if not text.isascii():
            known = block.count(_REPLACEMENT.encode())
            self.invalid += text.count(_REPLACEMENT) - known
        if self._lower:
            text = text.lower()
        if "\r" in text:
            text = text.replace("\r\n", "\n")
        plain: list[str] = []
        expected = 0
        for line in text.split("\n"):
            words = self._words(line) if line else []
            expected += len(words)
            plain.append(" ".join(words))
        joined = "\n".join(plain).encode("utf-8", "surrogatepass")
        # Where words do not come out as they went in, one of them is no word.
        if len(joined.split()) != expected:
            for line in text.split("\n"):
                check(self._words(line) if line else [], self._what)
        # A line that goes on in the next block has no line feed yet.
        return joined if block.endswith(b"\n") else joined + b" "


class LineScanner:
    """Scans as `Scanner` does, but for the words of a `LineTokeniser`."""

    def __init__(self, block: int, tokeniser: LineTokeniser) -> None:
        self._inner = Scanner(block)
        self._tokeniser = tokeniser

    @property
    def table(self) -> Table:
        return self._inner.table

    @table.setter
    def table(self, table: Table) -> None:
        self._inner.table = table

    @property
    def tokens(self) -> int:
        return self._inner.tokens

    @property
    def long(self) -> int:
        return self._inner.long

    @property
    def invalid(self) -> int:
        return self._tokeniser.invalid

    def scan(self, data: NDArray[np.uint8], size: int) -> NDArray[np.int32]:
        plain = self._tokeniser.plain(data[:size].tobytes())
        padded = np.frombuffer(bytearray(plain + bytes(PADDING)), np.uint8)
        return self._inner.scan(padded, len(plain))


def _by_pattern(pattern: str) -> Callable[[str], list[str]]:
    expression = compiled(pattern)

    def find(line: str) -> list[str]:
        words: list[str] = (
            [match.group() for match in expression.finditer(line)]
            if expression.groups
            else expression.findall(line)
        )
        return [word for word in words if word] if "" in words else words

    return find


def _by_callable(tokenize: Tokenizer) -> Callable[[str], list[str]]:
    return lambda line: listed(tokenize(line), "tokenize")


def listed(words: object, what: str) -> list[str]:
    """The words of one sentence, empty ones left out; all of them strings."""
    if isinstance(words, str | bytes) or not isinstance(words, Iterable):
        raise CorpusError(
            f"{what} gave {_shown(words)}, a {type(words).__name__}. A sentence is a "
            'list of words: ["the", "cat"].'
        )
    found = list(words)
    for word in found:
        if not isinstance(word, str):
            raise CorpusError(
                f"{what} gave {_shown(word)}, a {type(word).__name__}, as a word. "
                "Words are strings: use str(word)."
            )
    return [word for word in found if word] if "" in found else found


def check(words: list[str], what: str) -> None:
    """Refuse words that hold whitespace."""
    for word in words:
        if any(chr(byte) in word for byte in WHITESPACE):
            raise CorpusError(
                f"{what} gave the word {_shown(word)}, with whitespace in it. Join "
                f"its parts: {_shown('_'.join(word.split()))}."
            )


def line_of(sentence: object, number: int, *, lower: bool) -> bytes:
    """A sentence that is split already, as a line of plain text."""
    what = f"sentence {number}"
    words = listed(sentence, what)
    text = " ".join(words)
    if lower:
        text = text.lower()
    line = text.encode("utf-8", "surrogatepass")
    if len(line.split()) != len(words):
        check(words, what)
    return line + b"\n"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
