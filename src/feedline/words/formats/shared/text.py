"""Vectors as text, the rows that all the text formats share.

    word 0.12 -3.4e-05 ...      one word per line, `dim` numbers after it

A word may hold spaces, as in GloVe's large files: the last `dim` fields are the
numbers and the word is what stands before. Blocks of lines are parsed by
compiled code, several at once, in the order of the file.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from feedline.errors import VectorsError
from feedline.files.cores import cores
from feedline.files.sizes import size as shown_size
from feedline.words.formats.shared.source import (
    MAX_DIM,
    MAX_LINE,
    Source,
    decoded,
    joined,
)

CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
"""Bytes that text does not have."""


@dataclass(frozen=True, eq=False)
class Block:
    """The rows of some lines, and what stopped the parsing, if anything did."""

    rows: NDArray[np.float32]
    words: list[bytes]
    lines: int
    status: int
    at: int
    data: bytes


def read_rows(
    source: Source,
    dim: int,
    *,
    line: int = 0,
    limit: int | None = None,
    bare: bool = False,
) -> tuple[list[str], NDArray[np.float32], int]:
    """Words and matrix of the rest of the file, and the number of its last line.

    `line` lines were read before. With `bare` the lines have numbers only.
    """
    words: list[bytes] = []
    blocks: list[NDArray[np.float32]] = []
    found = 0
    # An error keeps what is not closed until the garbage collector comes by, at any
    # moment and in any thread: to end threads there can wait for itself forever.
    with closing(_parsed(source, dim, bare)) as parsed:
        for block in parsed:
            words += block.words
            blocks.append(block.rows)
            found += len(block.rows)
            line += block.lines
            if limit is not None and found >= limit:
                del words[limit:]
                break
            if block.status:
                source.fail(_reason(block, dim, line))
    matrix = joined(blocks, dim, found if limit is None else min(found, limit))
    return [] if bare else decoded(words, source.path), matrix, line


def _parsed(source: Source, dim: int, bare: bool) -> Any:
    """Blocks parsed by a few threads, in order, with few in memory at a time."""
    workers = min(4, cores())
    waiting: deque[Future[Block]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for data in source.blocks():
                waiting.append(pool.submit(_parse, data, dim, bare))
                if len(waiting) > workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _parse(data: bytes, dim: int, bare: bool) -> Block:
    from feedline.words.formats.shared import numbers

    # A number and its separator take two bytes, so this many rows at the most,
    # whatever the header says about the dimension.
    most = min(data.count(b"\n") + 1, len(data) // (2 * dim) + 1)
    rows = np.empty((most, dim), np.float32)
    spans = np.empty((most, 3), np.int64)
    redo = np.zeros(most, np.bool_)
    done, lines, status, at = numbers.parse(
        np.frombuffer(data, np.uint8), dim, bare, rows, spans, redo
    )
    for row in np.flatnonzero(redo[:done]):
        start, end = spans[row, 1:].tolist()
        values = np.array([float(field) for field in data[start:end].split()])
        with np.errstate(over="ignore"):
            rows[row] = values.astype(np.float32)
        if not np.isfinite(rows[row]).all():
            at = end - len(data[start:end].split()[-1])
            lines, status = data.count(b"\n", 0, end) + 1, numbers.NOT_FINITE
            done = int(row)
            break
    words = [] if bare else [data[a:b] for a, b in spans[:done, :2].tolist()]
    return Block(rows[:done], words, lines, status, at, data if status else b"")


def _reason(block: Block, dim: int, line: int) -> str:
    from feedline.words.formats.shared import numbers

    start = block.data.rfind(b"\n", 0, block.at) + 1
    end = block.data.find(b"\n", block.at)
    text = block.data[start : len(block.data) if end < 0 else end]
    field = block.data[block.at :].split(None, 1)[0] if block.status > 1 else b""
    # A line with too few numbers has its word where a number should be.
    few = len(text.split()) <= dim
    if block.status == numbers.FEW or (block.status == numbers.NOT_NUMBER and few):
        last = " It is the last line: the file is cut short." if end < 0 else ""
        return (
            f"line {line:,} has {trailing_numbers(text):,} numbers after its word and "
            f"needs {dim:,}: {shown(text)}.{last}"
        )
    if block.status == numbers.NOT_NUMBER:
        return (
            f"line {line:,} has {shown(field)} where one of its {dim:,} numbers "
            f"should be: {shown(text)}"
        )
    if block.status == numbers.NOT_FINITE:
        return (
            f"line {line:,}, of the word {shown(text.split(None, 1)[0])}, holds "
            f"{shown(field)}: a vector cannot hold NaN or infinity. Remove the "
            "line, or train again"
        )
    return f"line {line:,} has {dim:,} numbers and no word: {shown(text)}"


def shown(text: bytes) -> str:
    """Foreign bytes for a message, on one line and short."""
    return repr(text[:40].decode("utf-8", "replace")) + ("…" if len(text) > 40 else "")


def is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return b"_" not in field


def trailing_numbers(line: bytes) -> int:
    """How many of the last fields are numbers, the first field being a word."""
    fields = line.split()
    found = 0
    for field in reversed(fields[1:]):
        if not is_number(field):
            break
        found += 1
    return found


def first_lines(source: Source, most: int = 20) -> list[bytes]:
    """Whole lines from the start of what is left, which stay to be read."""
    size = 1 << 16
    while True:
        data = source.peek(size)
        lines = data.split(b"\n")
        ended = len(data) < size
        if len(lines) > 2 or ended:
            break
        if size >= MAX_LINE:
            if len(lines) == 1:
                source.fail(f"its lines are longer than {shown_size(MAX_LINE)}")
            break
        size *= 4
    whole = lines if ended else lines[:-1]
    return [line for line in whole if line.strip()][:most]


def common_dim(lines: Sequence[bytes]) -> int:
    """The dimension that most lines have, 0 where they are no rows.

    A word that ends in a number ("windows 95") has one too many, so of two that
    are as common the smaller is right.
    """
    counted = Counter(trailing_numbers(line) for line in lines)
    if not counted:
        return 0
    dim, _ = max(counted.items(), key=lambda item: (item[1], -item[0]))
    return dim


def check_dim(source: Source, dim: int, said_by: str) -> None:
    if not 1 <= dim <= MAX_DIM:
        source.fail(
            f"{said_by} gives the dimension {dim:,}; it must be from 1 to {MAX_DIM:,}"
        )


# Writing ----------------------------------------------------------------------


def check_words(words: Sequence[str], *, instead: str) -> None:
    """An error for a word that a line of text cannot hold."""
    for word in words:
        if not word or word != word.strip(" \t\r") or "\n" in word:
            raise VectorsError(
                f"the word {word!r} cannot be in a line of text: it is empty, holds "
                f"a line feed, or begins or ends with a space. {instead}"
            )


def write_rows(
    file: IO[bytes],
    words: Sequence[str] | None,
    matrix: NDArray[np.float32],
    separator: str = " ",
) -> None:
    """A line per row; a float32 comes back as it was."""
    step = max(1, 250_000 // matrix.shape[1])
    for start in range(0, len(matrix), step):
        block = matrix[start : start + step]
        if not np.isfinite(block).all():
            row = int(np.argmin(np.isfinite(block).all(axis=1)))
            name = "" if words is None else f" of {words[start + row]!r}"
            raise VectorsError(
                f"the vector{name} holds NaN or infinity, which text files do not: "
                "export as numpy, or train again"
            )
        lines = _lines(block, separator)
        if words is None:
            file.write(b"\n".join(lines) + b"\n")
        else:
            some = [word.encode() for word in words[start : start + step]]
            mark = separator.encode()
            file.write(
                b"".join(
                    b"%b%b%b\n" % (word, mark, line)
                    for word, line in zip(some, lines, strict=True)
                )
            )


def _lines(block: NDArray[np.float32], separator: str) -> list[bytes]:
    """The numbers of each row as text."""
    from feedline.words.formats.shared import digits

    rows, dim = block.shape
    out = np.empty(rows * dim * digits.WIDEST, np.uint8)
    ends = np.empty(rows, np.int64)
    digits.write(np.ascontiguousarray(block), ord(separator), out, ends)
    used = abs(int(ends[-1])) if rows else 0
    data = out[:used].tobytes()
    lines: list[bytes] = []
    at = 0
    for row, end in enumerate(ends.tolist()):
        if end < 0:
            text = separator.join(f"{value:.9g}" for value in block[row].tolist())
            lines.append(text.encode())
        else:
            lines.append(data[at:end])
            at = end
    return lines
