"""The tables of all threads made one, and their words put right.

Threads know words as the bytes they met. Here, once for each distinct word and
not for each occurrence, invalid UTF-8 becomes U+FFFD and, where asked for,
capitals become small. Words that are equal after that become one. ASCII
whitespace never stands inside a UTF-8 sequence nor changes how a neighbour is
lowered, so the outcome is that of decoding and lowering the whole text first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from feedline.words.text.scan import SKIPPED
from feedline.words.text.table import LONGEST, USED, Table

_REPLACEMENT = "\ufffd"


@dataclass(frozen=True)
class Merged:
    """One table, and what the numbers of the threads' tables are in it."""

    table: Table
    maps: tuple[NDArray[np.int32], ...]
    invalid: int
    """Invalid UTF-8 sequences, each of which became one U+FFFD."""
    long: int
    """Tokens left out because their words became too long with that."""


def merge(tables: Sequence[Table], *, lower: bool) -> Merged:
    """Make one table of several. They are used up by it."""
    target: Table | None = None
    maps: list[NDArray[np.int32]] = []
    invalid = long = 0
    largest_first = sorted(tables, key=len, reverse=True)
    for source in largest_first:
        size = len(source)
        if lower:
            _lower_ascii(source.arena[: source.state[USED]])
        beyond = _beyond_ascii(source.arena, source.starts[:size], source.lengths)
        strange = np.flatnonzero(beyond)
        mended = _mended(source, strange, lower=lower)
        if target is None and mended is None and not lower:
            # Nothing to put right: the largest table takes in the others.
            target = source
            maps.append(np.arange(size, dtype=np.int32))
            continue
        if target is None:
            target = Table()
        if mended is None:
            maps.append(_add(target, source, np.arange(size)))
            continue
        numbers = np.empty(size, np.int32)
        ascii_ones = np.flatnonzero(~beyond)
        numbers[ascii_ones] = _add(target, source, ascii_ones)
        words, replaced = mended
        counts = source.counts[strange]
        fit = np.fromiter((len(word) <= LONGEST for word in words), bool, len(words))
        numbers[strange[~fit]] = SKIPPED
        numbers[strange[fit]] = target.add_words(
            [word for word, fits in zip(words, fit, strict=True) if fits], counts[fit]
        )
        invalid += int((replaced * counts).sum())
        long += int(counts[~fit].sum())
        maps.append(numbers)
    by_table = dict(zip(map(id, largest_first), maps, strict=True))
    return Merged(
        Table() if target is None else target,
        tuple(by_table[id(table)] for table in tables),
        invalid,
        long,
    )


def chained(first: NDArray[np.int32], then: NDArray[np.int32]) -> NDArray[np.int32]:
    """Two maps, one after the other; what has no number in one has none at all."""
    out = np.full(len(first), SKIPPED, np.int32)
    known = first >= 0
    out[known] = then[first[known]]
    return out


def _add(target: Table, source: Table, which: NDArray[np.int64]) -> NDArray[np.int32]:
    return target.add(
        source.arena, source.starts[which], source.lengths[which], source.counts[which]
    )


def _mended(
    source: Table, which: NDArray[np.int64], *, lower: bool
) -> tuple[list[bytes], NDArray[np.int64]] | None:
    """The words put right and their replacements, or None where all are right."""
    words = source.words(which)
    replaced = np.zeros(len(words), np.int64)
    try:
        text = b"\n".join(words).decode()
        if not lower:
            return None
    except UnicodeDecodeError:
        # Word by word, so that what is invalid is counted for each.
        decoded = [word.decode("utf-8", "replace") for word in words]
        for i, word in enumerate(decoded):
            if _REPLACEMENT in word:
                known = words[i].count(_REPLACEMENT.encode())
                replaced[i] = word.count(_REPLACEMENT) - known
        text = "\n".join(decoded)
    if lower:
        text = text.lower()
    return (text.encode().split(b"\n") if words else []), replaced


@njit(nogil=True, cache=True)
def _lower_ascii(arena: NDArray[np.uint8]) -> None:
    for i in range(len(arena)):
        byte = arena[i]
        arena[i] = byte + 32 * (65 <= byte <= 90)


@njit(nogil=True, cache=True)
def _beyond_ascii(
    arena: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int32]
) -> NDArray[np.bool_]:
    found = np.zeros(len(starts), np.bool_)
    for i in range(len(starts)):
        bits = np.uint8(0)
        for j in range(starts[i], starts[i] + lengths[i]):
            bits |= arena[j]
        found[i] = bits >= 128
    return found
