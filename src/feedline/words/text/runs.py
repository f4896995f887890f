"""Words by a pattern, at nearly the speed of plain text.

Text repeats itself. A run, that is what stands between whitespace, is searched
for words when it is first met; from then on its number (scan.py) leads to the
numbers of its words. This is right where no match holds whitespace or looks at
it (`keeps_to_words`); other patterns go the slow way (tokenise.py).

Runs are forgotten when there are too many, words are not: where text has no
spaces, as in Chinese, every run is new and nothing is gained, but memory is that
of the words still.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from feedline.words.text.scan import SKIPPED, Scanner
from feedline.words.text.table import LONGEST, USED, Table
from feedline.words.text.tokenise import LineScanner, LineTokeniser
from feedline.words.text.vocabulary import WHITESPACE

_REPLACEMENT = "\ufffd"
_MOST_RUNS = 1 << 20
_MOST_BYTES = 1 << 27

# The parts of a pattern that neither match whitespace nor look at it: letters,
# classes (looked at one by one), groups without conditions, repetition, choice.
_PARTS = re.compile(
    r"(?P<set>\[(?:\\.|[^\]\\])+\])"
    r"|\\[wdb]|\\[.\-+*?()\[\]{}|/']|[\w'’@&-]|\(\?:|[()|+*?]|\{\d*,?\d*\}"
)


def keeps_to_words(pattern: str) -> bool:
    """Is it certain that the pattern finds the same in every run alone?"""
    at = 0
    while at < len(pattern):
        part = _PARTS.match(pattern, at)
        if part is None:
            return False
        one = part["set"]
        if one and any(re.match(one, chr(byte)) for byte in WHITESPACE):
            return False
        at = part.end()
    return True


class RunScanner:
    """Scans as `Scanner` does, but for the words that a pattern finds."""

    _known: int
    """Runs that were searched. For each, where its words begin in `_numbers`, and
    how much of it was invalid; `_strange` says whether anything was."""
    _offsets: NDArray[np.int64]
    _numbers: NDArray[np.int32]
    _replaced: NDArray[np.int64]
    _strange: bool

    def __init__(self, block: int, tokeniser: LineTokeniser) -> None:
        self._block = block
        self._tokeniser = tokeniser
        self._slow = LineScanner(block, tokeniser)
        self._tokens = 0
        self._invalid = 0
        self._out = np.empty(0, np.int32)
        self._forget_runs()

    @property
    def table(self) -> Table:
        return self._slow.table

    @table.setter
    def table(self, table: Table) -> None:
        self._slow.table = table
        self._forget_runs()

    @property
    def tokens(self) -> int:
        return self._tokens + self._slow.tokens

    @property
    def long(self) -> int:
        return self._slow.long

    @property
    def invalid(self) -> int:
        return self._invalid + self._slow.invalid

    def scan(self, data: NDArray[np.uint8], size: int) -> NDArray[np.int32]:
        runs = self._runs_in(data, size)
        if runs is None:
            return self._slow.scan(data, size)
        self._learn()
        if self._strange:
            self._invalid += int(self._replaced[runs[runs >= 0]].sum())
        needed = _needed(runs, self._offsets)
        if needed > len(self._out):
            self._out = np.empty(needed, np.int32)
        self._tokens += _expand(
            runs, self._offsets, self._numbers, self.table.counts, self._out
        )
        return self._out[:needed]

    def _runs_in(self, data: NDArray[np.uint8], size: int) -> NDArray[np.int32] | None:
        """The numbers of the runs; None where one is so long that it is none."""
        table = self._runs.table
        if len(table) > _MOST_RUNS or table.state[USED] > _MOST_BYTES:
            self._forget_runs()
        if int(data[size - 1]) not in WHITESPACE:
            return None
        before = self._runs.long
        runs = self._runs.scan(data, size)
        return runs if self._runs.long == before else None

    def _learn(self) -> None:
        """Search the runs that are new."""
        known, size = self._known, len(self._runs.table)
        if known == size:
            return
        texts, replaced = self._decoded(np.arange(known, size))
        found = [self._tokeniser.words(text) for text in texts]
        words = [word.encode() for word in chain.from_iterable(found)]
        numbers = np.full(len(words), SKIPPED, np.int32)
        fit = [i for i, word in enumerate(words) if len(word) <= LONGEST]
        none = np.zeros(len(fit), np.int64)
        numbers[fit] = self.table.add_words([words[i] for i in fit], none)
        first = int(self._offsets[known])
        ends = np.cumsum([len(one) for one in found]) + first
        self._offsets = _filled(self._offsets, known + 1, ends)
        self._numbers = _filled(self._numbers, first, numbers)
        self._replaced = _filled(self._replaced, known, replaced)
        self._strange = self._strange or bool(replaced.any())
        self._known = size

    def _decoded(self, which: NDArray[np.int64]) -> tuple[list[str], NDArray[np.int64]]:
        runs = self._runs.table.words(which)
        replaced = np.zeros(len(runs), np.int64)
        try:
            return b"\n".join(runs).decode().split("\n"), replaced
        except UnicodeDecodeError:
            texts = [run.decode("utf-8", "replace") for run in runs]
            for i, text in enumerate(texts):
                known = runs[i].count(_REPLACEMENT.encode())
                replaced[i] = text.count(_REPLACEMENT) - known
            return texts, replaced

    def _forget_runs(self) -> None:
        self._runs = Scanner(self._block)
        self._known = 0
        self._offsets = np.zeros(1 << 12, np.int64)
        self._numbers = np.zeros(1 << 12, np.int32)
        self._replaced = np.zeros(1 << 12, np.int64)
        self._strange = False


def _filled(array: NDArray[Any], at: int, values: NDArray[Any]) -> NDArray[Any]:
    """The array with `values` from `at` on, made longer where it must be."""
    end = at + len(values)
    if end > len(array):
        longer = np.zeros(max(2 * len(array), end), array.dtype)
        longer[:at] = array[:at]
        array = longer
    array[at:end] = values
    return array


@njit(nogil=True, cache=True)
def _needed(runs: NDArray[np.int32], offsets: NDArray[np.int64]) -> int:
    size = 0
    for run in runs:
        size += 1 if run < 0 else offsets[run + 1] - offsets[run]
    return size


@njit(nogil=True, cache=True)
def _expand(
    runs: NDArray[np.int32],
    offsets: NDArray[np.int64],
    numbers: NDArray[np.int32],
    counts: NDArray[np.int64],
    out: NDArray[np.int32],
) -> int:
    size = 0
    words = 0
    for run in runs:
        if run < 0:
            out[size] = run
            size += 1
            continue
        for i in range(offsets[run], offsets[run + 1]):
            number = numbers[i]
            out[size] = number
            size += 1
            words += 1
            if number >= 0:
                counts[number] += 1
    return words
