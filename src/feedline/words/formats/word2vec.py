"""word2vec's text format, which is also fastText's `.vec`.

400000 100                  words, dimension
the 0.12 -0.43 ...          one word per line; a space may end it
"""

from __future__ import annotations

from pathlib import Path

from feedline.words.formats.format import Format
from feedline.words.formats.shared import target, text
from feedline.words.formats.shared.source import Source, unique
from feedline.words.vectors.vectors import Vectors


def header(line: bytes) -> tuple[int, int] | None:
    """Words and dimension, where the line is a header."""
    fields = line.split()
    if len(fields) != 2 or not all(f.isdigit() and len(f) < 19 for f in fields):
        return None
    return int(fields[0]), int(fields[1])


def read_header(source: Source) -> tuple[int, int]:
    """Words and dimension from the first line; an error where it has neither."""
    line = source.line()
    found = header(line)
    if found is None:
        source.fail(
            f"line 1 is {text.shown(line)}, not the number of words and the dimension, "
            "as in '400000 100'. A GloVe file has no such line: read it as glove"
        )
    text.check_dim(source, found[1], "line 1")
    return found


def read(source: Source, *, limit: int | None = None) -> Vectors:
    rows, dim = read_header(source)
    least = rows * (2 * dim + 1)
    if limit is None and source.size is not None and source.at + least > source.size:
        source.fail(
            f"line 1 promises {rows:,} words of dimension {dim:,}, at least "
            f"{least:,} bytes, but the file has {source.size:,}: it is cut short, or "
            "line 1 is wrong"
        )
    lines = text.first_lines(source)
    real = text.common_dim(lines)
    if (
        len(lines) > 1
        and real > dim
        and all(text.trailing_numbers(line) == real for line in lines)
    ):
        source.fail(
            f"line 1 gives the dimension {dim:,}, but the lines below have {real:,} "
            "numbers: line 1 is wrong, or the file has no such line (read it as glove)"
        )
    words, matrix, line = text.read_rows(source, dim, line=1, limit=limit)
    if len(words) != (rows if limit is None else min(rows, limit)):
        source.fail(
            f"line 1 promises {rows:,} words, but the file has {len(words):,} up to "
            f"line {line:,}: it is cut short or was added to, or line 1 is wrong"
        )
    words, matrix, _ = unique(words, matrix, source.path)
    return Vectors(tuple(words), matrix, config={"format": "word2vec"})


def write(vectors: Vectors, path: Path) -> None:
    text.check_words(vectors.words, instead="Export as numpy, which takes any word.")
    with target.packed(path) as file:
        file.write(f"{len(vectors)} {vectors.dim}\n".encode())
        text.write_rows(file, vectors.words, vectors.matrix)


def header_of(start: bytes) -> tuple[int, int] | None:
    """Words and dimension, where the first line is whole and a header."""
    line, found, _ = start.partition(b"\n")
    return header(line) if found else None


def is_text(source: Source) -> bool:
    """After a header: text, not the binary format, which begins alike."""
    start = source.peek(1 << 12)
    found = header_of(start)
    if found is None:
        return False
    # Long enough for a line of text of this dimension, short of what a lie costs.
    dim, skip = found[1], start.index(b"\n") + 1
    sample = source.peek(skip + min(max(40 * dim, 4096), 1 << 24))[skip:]
    if text.trailing_numbers(sample.split(b"\n", 1)[0]) >= dim > 0:
        return True
    return not text.CONTROL.search(sample) and _is_utf8(sample)


def _is_utf8(sample: bytes) -> bool:
    try:
        sample.decode()
    except UnicodeDecodeError as error:
        # A character may be cut at the end of the sample.
        return error.start >= len(sample) - 3
    return True


FORMAT = Format(
    "word2vec",
    used_by="gensim, fastText, spaCy, most others",
    endings=(".vec", ".txt", ".w2v"),
    detect=is_text,
    read=read,
    write=write,
    packed=True,
)
