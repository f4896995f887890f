r"""word2vec's binary format, as of GoogleNews-vectors-negative300.bin.

    3000000 300\n               words, dimension, as text
    word, a space, 4 x dimension bytes of little-endian float32

word2vec.c puts a line feed after each vector, gensim none: both are read, and
none is written. A word ends at its first space, so it cannot hold one.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from feedline.errors import VectorsError
from feedline.words.formats.format import Format
from feedline.words.formats.shared import target
from feedline.words.formats.shared.source import (
    BLOCK,
    Source,
    decoded,
    finite,
    joined,
    unique,
)
from feedline.words.formats.word2vec import header_of, is_text, read_header
from feedline.words.vectors.vectors import Vectors

# word2vec.c cuts words at 100 bytes; longer than this is no word.
_MAX_WORD = 10_000


def read(source: Source, *, limit: int | None = None) -> Vectors:
    rows, dim = read_header(source)
    least = rows * (4 * dim + 2)
    if source.size is not None and source.at + least > source.size:
        source.fail(
            f"line 1 promises {rows:,} words of dimension {dim:,}, at least "
            f"{least:,} bytes, but the file has {source.size:,}: it is cut short, is "
            "text, or line 1 is wrong"
        )
    wanted = rows if limit is None else min(rows, limit)
    raw: list[bytes] = []
    blocks: list[NDArray[np.float32]] = []
    size = max(BLOCK, 4 * (4 * dim + _MAX_WORD))
    data = b""
    while len(raw) < wanted:
        more = source.read(size - len(data))
        data += more
        start = source.at - len(data)
        found, used = _records(data, dim, wanted - len(raw), raw, blocks)
        if found:
            data = data[used:]
        elif len(data) >= size:
            source.fail(
                f"the word at byte {start:,} does not end within {_MAX_WORD:,} bytes: "
                "the file is damaged, or its dimension is not the one in line 1"
            )
        elif not more:
            source.fail(
                f"it ends at byte {source.at:,}, within word {len(raw) + 1:,} of "
                f"{rows:,}: the file is cut short"
            )
    words = decoded(raw, source.path)
    matrix = joined(blocks, dim)
    for row, word in enumerate(words):
        if not word:
            source.fail(f"word {row + 1:,} of {rows:,} is empty: the file is damaged")
    finite(matrix, words, source.path)
    if limit is None and (data.strip(b"\n") or source.read(1)):
        source.fail(
            f"line 1 promises {rows:,} words, but there is more after byte "
            f"{source.at - len(data):,}: line 1 is wrong, or the file is damaged"
        )
    words, matrix, _ = unique(words, matrix, source.path)
    return Vectors(tuple(words), matrix, config={"format": "word2vec-binary"})


def _records(
    data: bytes,
    dim: int,
    most: int,
    raw: list[bytes],
    blocks: list[NDArray[np.float32]],
) -> tuple[int, int]:
    """Add the whole records at the start of `data`; how many, and their bytes."""
    from feedline.words.formats.shared.kernels import scan

    most = min(most, len(data) // (4 * dim) + 1)
    rows = np.empty((most, 4 * dim), np.uint8)
    spans = np.empty((most, 2), np.int64)
    found, used = scan(np.frombuffer(data, np.uint8), 4 * dim, rows, spans, _MAX_WORD)
    raw += [data[a:b] for a, b in spans[:found].tolist()]
    blocks.append(rows[:found].view("<f4"))
    return found, used


def write(vectors: Vectors, path: Path) -> None:
    for word in vectors.words:
        if not word or " " in word or word[0] == "\n":
            raise VectorsError(
                f"the word {word!r} cannot be in word2vec's binary format, where a "
                "word ends at its first space. Export as word2vec text or as numpy"
            )
    little = vectors.matrix.astype("<f4", copy=False)
    with target.packed(path) as file:
        file.write(f"{len(vectors)} {vectors.dim}\n".encode())
        for word, row in zip(vectors.words, little, strict=True):
            file.write(word.encode() + b" " + row.tobytes())


def is_binary(source: Source) -> bool:
    """word2vec's header, and no text after it."""
    return header_of(source.peek(1 << 12)) is not None and not is_text(source)


FORMAT = Format(
    "word2vec-binary",
    used_by="gensim, word2vec",
    endings=(".bin",),
    detect=is_binary,
    read=read,
    write=write,
    packed=True,
)
