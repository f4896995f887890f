"""Vectors from and for other programs: one file per format.

`read` looks at what a file holds, not at its name, unless the format is given;
`write` goes by the name. A file that is cut short, lies about its size or is of
another kind is a VectorsError that says where.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

from feedline.errors import VectorsError
from feedline.words.vectors.vectors import Vectors

# Name -> module. Readers take an open Source; numpy (which maps the file) and
# projector (which is a directory) a path.
_MODULES = {
    "word2vec": "word2vec",
    "word2vec-binary": "word2vec_binary",
    "glove": "glove",
    "fasttext": "fasttext",
    "numpy": "numpy",
    "projector": "projector",
    "gensim": "gensim",
    "keras": "keras",
    "savedmodel": "savedmodel",
}

READABLE = (
    "feedline",
    "word2vec",
    "word2vec-binary",
    "glove",
    "fasttext",
    "numpy",
    "projector",
)
WRITABLE = (
    "word2vec",
    "word2vec-binary",
    "glove",
    "numpy",
    "gensim",
    "keras",
    "savedmodel",
    "projector",
)
# Written as a directory, which the format itself looks at.
_DIRECTORIES = ("projector", "savedmodel")

_PACKED = ("word2vec", "word2vec-binary", "glove")

_BY_NAME = {
    ".vec": "word2vec",
    ".txt": "word2vec",
    ".w2v": "word2vec",
    ".bin": "word2vec-binary",
    ".glove": "glove",
    ".npz": "numpy",
    ".npy": "numpy",
    ".kv": "gensim",
    ".keras": "keras",
}


def read(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002
    limit: int | None = None,
) -> Vectors:
    """Vectors from a saved directory or a file, plain or gzip, xz or zstd.

    `limit` takes the first so many words, which in most files are the most
    frequent.
    """
    from feedline.words.formats import detect
    from feedline.words.formats import feedline as directory
    from feedline.words.formats.shared.source import opened

    path = Path(path)
    if format is not None and format not in READABLE:
        raise VectorsError(
            f"{format!r} is no format that feedline reads: give one of "
            f"{', '.join(READABLE)}"
        )
    if limit is not None and limit < 1:
        raise VectorsError(f"the first {limit} words are none: give 1 or more")
    if format is None and path.is_dir():
        format = detect.of_directory(path)  # noqa: A001
    if format == "feedline":
        return first(directory.read(path), limit)
    if format == "projector":
        return _module(format).read(path, limit=limit)  # type: ignore[no-any-return]
    with opened(path) as source:
        if source.peek(3) == b"\xef\xbb\xbf":  # some editors' mark of UTF-8
            source.read(3)
        format = format or detect.of_file(source)  # noqa: A001
        if format != "numpy":
            return _module(format).read(source, limit=limit)  # type: ignore[no-any-return]
        if source.size is None:
            source.fail("a NumPy file is not read compressed: unpack it first")
    return _module(format).read(path, limit=limit)  # type: ignore[no-any-return]


def write(
    vectors: Vectors,
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002
    *,
    force: bool = False,
) -> Path:
    """Export; where no format is given, the name's ending says it."""
    name = format or guess(path)
    place = check(path, name, force=force)
    _module(name).write(vectors, place)
    return place


def check(path: str | os.PathLike[str], name: str, *, force: bool = False) -> Path:
    """Where an export may be written; an error, before any work, if it may not."""
    from feedline.words.formats.shared import target

    if name not in WRITABLE:
        raise VectorsError(
            f"{name!r} is no format that feedline writes: give one of "
            f"{', '.join(WRITABLE)}"
        )
    if Path(path).suffix == ".gz" and name not in _PACKED:
        raise VectorsError(
            f"{name} is not written compressed, and {os.fspath(path)!r} ends with .gz: "
            f"leave it out. {', '.join(_PACKED)} are"
        )
    module = _module(name)
    place = Path(path).absolute()
    if name not in _DIRECTORIES:
        place = target.check(path, force=force)
    if hasattr(module, "check"):
        module.check(place, force=force)
    return place


def guess(path: str | os.PathLike[str]) -> str:
    """The format that a file's name asks for."""
    name = Path(path)
    if name.suffix.lower() == ".gz":
        name = name.with_suffix("")
    found = _BY_NAME.get(name.suffix.lower())
    if found is None:
        known = ", ".join(f"{end} {name}" for end, name in _BY_NAME.items())
        raise VectorsError(
            f"the name {os.fspath(path)!r} does not say the format. Name it "
            f"(--format), one of {', '.join(WRITABLE)}, or end the name with one of: "
            f"{known}"
        )
    return found


def first(vectors: Vectors, limit: int | None) -> Vectors:
    """The first `limit` words only, all where it is None."""
    if limit is None or limit >= len(vectors):
        return vectors
    counts = None if vectors.counts is None else vectors.counts[:limit]
    return Vectors(
        vectors.words[:limit],
        vectors.matrix[:limit],
        counts,
        vectors.config,
        vectors.subwords,
    )


def _module(name: str) -> Any:
    return importlib.import_module(f"feedline.words.formats.{_MODULES[name]}")
