"""gensim's KeyedVectors, to and from the object.

gensim's own files are pickles, which run what they say when opened: feedline
writes them on request, through gensim, and does not open them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from feedline.errors import VectorsError
from feedline.words.formats.format import Format
from feedline.words.formats.shared import target
from feedline.words.vectors import subwords
from feedline.words.vectors.subwords import Subwords
from feedline.words.vectors.vectors import Vectors


def from_gensim(source: Any) -> Vectors:
    """Vectors from KeyedVectors, or from a Word2Vec or FastText model's `wv`."""
    keyed = getattr(source, "wv", source)
    words = getattr(keyed, "index_to_key", None)
    matrix = getattr(keyed, "vectors", None)
    if words is None or matrix is None:
        raise VectorsError(
            f"{type(source).__name__} is not gensim's KeyedVectors: it has no "
            "index_to_key and vectors (gensim 4 and later have)"
        )
    counts = getattr(keyed, "expandos", {}).get("count")
    grams = None
    rows = getattr(keyed, "vectors_ngrams", None)
    if rows is not None and getattr(keyed, "max_n", 0) > 0 and len(rows):
        if not getattr(keyed, "compatible_hash", True):
            raise VectorsError(
                "this FastText model is of a gensim before 3.8, whose n-gram hashes "
                "are not fastText's: save it again with gensim 4"
            )
        grams = Subwords(np.asarray(rows, np.float32), keyed.min_n, keyed.max_n)
    return Vectors(
        tuple(map(str, words)),
        # gensim keeps room for words to come below those that are there.
        np.array(matrix[: len(words)], np.float32),
        None if counts is None else np.asarray(counts[: len(words)], np.int64),
        {"format": "gensim"},
        grams,
    )


def to_gensim(vectors: Vectors) -> Any:
    """KeyedVectors with the same words, counts and, where there are, subwords."""
    try:
        from gensim.models import KeyedVectors
        from gensim.models.fasttext import FastTextKeyedVectors
    except ImportError:
        raise VectorsError(
            "gensim is not installed; install it with: pip install gensim. To carry "
            "vectors to another machine, export them as word2vec-binary, which gensim "
            "reads"
        ) from None
    grams = vectors.subwords
    if grams is None:
        keyed = KeyedVectors(vectors.dim, len(vectors), dtype=np.float32)
    else:
        keyed = FastTextKeyedVectors(
            vectors.dim,
            grams.min_n,
            grams.max_n,
            grams.buckets,
            len(vectors),
            dtype=np.float32,
        )
    keyed.index_to_key = list(vectors.words)
    keyed.key_to_index = dict(vectors.index)
    keyed.next_index = len(vectors)
    keyed.vectors = np.array(vectors.matrix)
    if vectors.counts is not None:
        keyed.allocate_vecattrs(["count"], [np.int64])
        keyed.expandos["count"][:] = vectors.counts
    if grams is not None:
        keyed.vectors_ngrams = np.array(grams.matrix)
        keyed.vectors_vocab = own_rows(vectors)
        keyed.recalc_char_ngram_buckets()
    return keyed


def own_rows(vectors: Vectors) -> Any:
    """Each word's own row, without its n-grams: what training works on."""
    grams = vectors.subwords
    if grams is None:
        return np.array(vectors.matrix)
    offsets, ids = subwords.table(
        vectors.words, grams.min_n, grams.max_n, grams.buckets
    )
    rows = vectors.matrix * (np.diff(offsets)[:, None] + np.float32(1))
    for word in range(len(rows)):
        rows[word] -= grams.matrix[ids[offsets[word] : offsets[word + 1]]].sum(axis=0)
    return rows


def write(vectors: Vectors, path: Path) -> None:
    """gensim's own `save`, which keeps a large matrix in files of its own."""
    keyed = to_gensim(vectors)
    with target.replaced(path) as part:
        # One file, so that it can be renamed: `separately` would name others in it.
        keyed.save(str(part), sep_limit=1 << 62)


FORMAT = Format(
    "gensim",
    used_by="gensim's KeyedVectors.load (a pickle)",
    endings=(".kv",),
    magic=(b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"),
    refused="it is a pickle, such as gensim's save() makes. A pickle can run any code, "
    "so feedline does not open one: load it in gensim and give the object to "
    "Vectors.from_gensim, or save it there with save_word2vec_format",
    write=write,
    subwords=True,
)
