"""TensorBoard's embedding projector: a directory of text files.

    vectors.tsv             the numbers, tabs between
    metadata.tsv            the words; with counts, two columns and their names
    projector_config.pbtxt  tells `tensorboard --logdir DIR` about the two

The same two files can be loaded by hand at projector.tensorflow.org.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from feedline.errors import OutputExists, VectorsError
from feedline.words.formats.format import Format
from feedline.words.formats.shared import target, text
from feedline.words.formats.shared.source import decoded, opened, unique
from feedline.words.vectors.vectors import Vectors

TENSOR, METADATA, CONFIG = "vectors.tsv", "metadata.tsv", "projector_config.pbtxt"
_HEADER = "word\tcount"

_CONFIG_TEXT = f"""\
embeddings {{
  tensor_name: "words"
  tensor_path: "{TENSOR}"
  metadata_path: "{METADATA}"
}}
"""


def is_projector(path: Path) -> bool:
    return path.is_dir() and (path / TENSOR).is_file()


def read(path: Path, *, limit: int | None = None) -> Vectors:
    with opened(path / TENSOR) as source:
        line = source.peek(1 << 25).split(b"\n", 1)[0]
        dim = len(line.split())
        text.check_dim(source, dim, "line 1")
        _, matrix, _ = text.read_rows(source, dim, limit=limit, bare=True)
    raw = _metadata(path / METADATA)
    counts: NDArray[np.int64] | None = None
    if raw and raw[0] == _HEADER.encode():
        pairs = [row.rpartition(b"\t") for row in raw[1:]]
        try:
            counts = np.array([int(count) for _, _, count in pairs], np.int64)
        except (ValueError, OverflowError) as error:
            raise VectorsError(f"cannot read {path / METADATA}: {error}") from None
        raw = [word for word, _, _ in pairs]
    raw = raw[:limit]
    if len(raw) != len(matrix):
        raise VectorsError(
            f"cannot read {path}: {TENSOR} has {len(matrix):,} vectors and {METADATA} "
            f"{len(raw):,} words: one for each"
        )
    words, matrix, kept = unique(decoded(raw, path), matrix, path)
    if counts is not None:
        counts = counts[:limit] if kept is None else counts[kept]
    return Vectors(tuple(words), matrix, counts, {"format": "projector"})


def _metadata(path: Path) -> list[bytes]:
    with opened(path) as source:
        rows = b"".join(source.blocks()).split(b"\n")
    return rows[:-1] if rows and not rows[-1] else rows


def check(path: Path, *, force: bool) -> None:
    target.check_folder(path)
    if path.exists() and not path.is_dir():
        raise OutputExists(f"{path} is a file; the projector needs a directory")
    if not force and any((path / name).exists() for name in (TENSOR, METADATA, CONFIG)):
        raise OutputExists(
            f"{path} holds {TENSOR} already; give another name, or --force "
            "(force=True) to overwrite it"
        )


def write(vectors: Vectors, path: Path) -> None:
    for word in vectors.words:
        if not word or "\n" in word or "\t" in word:
            raise VectorsError(
                f"the word {word!r} cannot be in a table of tabs and lines. Rename "
                "it, or export as numpy"
            )
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise VectorsError(f"cannot write {path}: {error.strerror or error}") from None
    with target.written(path / TENSOR) as file:
        text.write_rows(file, None, vectors.matrix, separator="\t")
    with target.written(path / METADATA) as file:
        file.write(_table(vectors).encode())
    with target.written(path / CONFIG) as file:
        file.write(_CONFIG_TEXT.encode())


def _table(vectors: Vectors) -> str:
    if vectors.counts is None:
        return "".join(f"{word}\n" for word in vectors.words)
    rows = zip(vectors.words, vectors.counts.tolist(), strict=True)
    return f"{_HEADER}\n" + "".join(f"{word}\t{count}\n" for word, count in rows)


FORMAT = Format(
    "projector",
    used_by="TensorBoard's embedding projector",
    holds=is_projector,
    read_folder=read,
    write=write,
    check=check,
    folder=True,
)
