"""Which format a file of vectors is, by what is in it and not by its name."""

from __future__ import annotations

import re
from pathlib import Path

from feedline.words.formats import fasttext, projector, word2vec
from feedline.words.formats import feedline as directory
from feedline.words.formats.shared import text
from feedline.words.formats.shared.source import Source

_NUMPY = b"\x93NUMPY"
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_PICKLE = re.compile(rb"\x80[\x02-\x05]")
_HDF5 = b"\x89HDF"

# Bytes that text does not have.
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")


def of_directory(path: Path) -> str | None:
    if directory.is_ours(path):
        return "feedline"
    if projector.is_projector(path):
        return "projector"
    return None


def of_file(source: Source) -> str:
    """The name of the format; an error that says what was seen instead."""
    start = source.peek(1 << 12)
    if not start:
        source.fail("it is empty")
    if start.startswith(fasttext.MAGIC):
        return "fasttext"
    if start.startswith(_NUMPY) or start.startswith(_ZIP):
        return "numpy"
    if _PICKLE.match(start):
        source.fail(
            "it is a pickle, such as gensim's save() makes. A pickle can run any code, "
            "so feedline does not open one: load it in gensim and give the object to "
            "Vectors.from_gensim, or save it there with save_word2vec_format"
        )
    if start.startswith(_HDF5):
        source.fail("it is HDF5 (.h5). Export the vectors from what wrote it as text")
    line, found, _ = start.partition(b"\n")
    header = word2vec.header(line) if found else None
    if header is None:
        if _CONTROL.search(start):
            source.fail(
                f"it is of no format that feedline reads: it is not text and begins "
                f"with {text.shown(start[:16])}. If you know the format, name it"
            )
        return "glove"
    return _with_header(source, header[1], len(line) + 1)


def _with_header(source: Source, dim: int, skip: int) -> str:
    """word2vec's text and binary begin alike; what follows tells."""
    # Long enough for a line of text of this dimension, short of what a lie costs.
    sample = source.peek(skip + min(max(40 * dim, 4096), 1 << 24))[skip:]
    second = sample.split(b"\n", 1)[0]
    if text.trailing_numbers(second) >= dim > 0:
        return "word2vec"
    if _CONTROL.search(sample) or not _is_text(sample):
        return "word2vec-binary"
    return "word2vec"


def _is_text(sample: bytes) -> bool:
    try:
        sample.decode()
    except UnicodeDecodeError as error:
        # A character may be cut at the end of the sample.
        return error.start >= len(sample) - 3
    return True
