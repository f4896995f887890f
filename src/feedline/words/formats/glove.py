"""GloVe's text format: word2vec's without the first line.

The dimension is what most of the first lines have.
"""

from __future__ import annotations

from pathlib import Path

from feedline.words.formats import word2vec
from feedline.words.formats.format import Format
from feedline.words.formats.shared import target, text
from feedline.words.formats.shared.source import Source, unique
from feedline.words.vectors.vectors import Vectors


def read(source: Source, *, limit: int | None = None) -> Vectors:
    lines = text.first_lines(source)
    dim = text.common_dim(lines)
    if not lines or dim < 1:
        first = text.shown(lines[0]) if lines else "no text"
        source.fail(
            f"it is not text with a word and numbers on each line: line 1 is {first}"
        )
    text.check_dim(source, dim, "line 1")
    words, matrix, _ = text.read_rows(source, dim, limit=limit)
    words, matrix, _ = unique(words, matrix, source.path)
    return Vectors(tuple(words), matrix, config={"format": "glove"})


def write(vectors: Vectors, path: Path) -> None:
    text.check_words(vectors.words, instead="Export as numpy, which takes any word.")
    with target.packed(path) as file:
        text.write_rows(file, vectors.words, vectors.matrix)


def is_glove(source: Source) -> bool:
    """Text without word2vec's header."""
    start = source.peek(1 << 12)
    return word2vec.header_of(start) is None and not text.CONTROL.search(start)


FORMAT = Format(
    "glove",
    used_by="what reads GloVe's text, without a header",
    endings=(".glove",),
    detect=is_glove,
    read=read,
    write=write,
    packed=True,
)
