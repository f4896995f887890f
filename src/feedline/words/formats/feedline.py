"""feedline's own form of vectors: a directory of three files (see bundle.py).

vectors.json          schema, sizes, checksums, versions and the training's config
vectors.safetensors   "matrix", and "subwords" where there are any: float32
vocabulary.txt        one `word count` per line, or one `word`
"""

from __future__ import annotations

import os
from pathlib import Path

from feedline.errors import VectorsError
from feedline.words.formats.format import Format
from feedline.words.formats.shared import bundle
from feedline.words.vectors.subwords import Subwords
from feedline.words.vectors.vectors import Vectors

JSON, TENSORS, WORDS = "vectors.json", "vectors.safetensors", "vocabulary.txt"

KIND = bundle.Kind(
    "vectors",
    "Save or train the vectors again",
    JSON,
    TENSORS,
    (WORDS,),
    VectorsError,
)


def write(
    vectors: Vectors, path: str | os.PathLike[str], *, force: bool = False
) -> Path:
    """Save to a directory, which may hold other files already."""
    bundle.check(KIND, path, force=force)
    tensors = {"matrix": vectors.matrix}
    grams = vectors.subwords
    if grams is not None:
        tensors["subwords"] = grams.matrix
    about = {
        "words": len(vectors),
        "dim": vectors.dim,
        "counts": vectors.counts is not None,
        "subwords": None
        if grams is None
        else {"buckets": grams.buckets, "min_n": grams.min_n, "max_n": grams.max_n},
        "config": dict(vectors.config),
    }
    texts = {WORDS: bundle.words_as_text(vectors.words, vectors.counts)}
    return bundle.write(KIND, path, about, tensors, texts, force=force)


def read(path: str | os.PathLike[str], *, verify: bool | None = None) -> Vectors:
    """Load a saved directory; `verify`: see bundle.py."""
    with bundle.reading(KIND, path, verify=verify) as (about, tensors):
        words, counts = bundle.words_of_text(
            (Path(path) / WORDS).read_bytes(),
            WORDS,
            about["words"],
            counted=about["counts"],
        )
        grams = about["subwords"]
        return Vectors(
            words,
            tensors["matrix"],
            counts,
            about["config"],
            None
            if grams is None
            else Subwords(tensors["subwords"], grams["min_n"], grams["max_n"]),
        )


def read_first(path: Path, *, limit: int | None = None) -> Vectors:
    return read(path).first(limit)


FORMAT = Format("feedline", holds=KIND.is_in, read_folder=read_first)
