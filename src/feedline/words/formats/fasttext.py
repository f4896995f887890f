"""fastText's binary models, `.bin`, read.

All little-endian; the layout of version 12, and of 11, which differs in nothing
that matters here:

    int32 magic, int32 version
    12 x int32, 1 x double          the arguments of the training
    int32 entries, words, labels; int64 tokens, pruned
      per entry: the word's bytes, a zero byte, int64 count, int8 0 word or 1 label
      per pruned: 2 x int32         only in quantised models
    bool quantised; int64 rows, int64 dimension; float32 rows x dimension
      the first `words` rows are words, then one for each bucket
    the output matrix, which no look-up needs: not read

A word's vector is the mean of its own row and those of its n-grams.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from feedline.words.formats.format import Format
from feedline.words.formats.shared.source import Source, decoded, finite, log, unique
from feedline.words.formats.shared.text import check_dim
from feedline.words.vectors import subwords
from feedline.words.vectors.vectors import Vectors

MAGIC = struct.pack("<i", 793712314)

_ARGUMENTS = struct.Struct("<12id")
_SIZES = struct.Struct("<3i2q")
_ENTRY = struct.Struct("<qb")
_MATRIX = struct.Struct("<?2q")
# Far above what anyone trains with: a file that says more is damaged, and the
# n-grams of a word are as many as its bytes times this.
_MAX_WORD = 1 << 16
_MAX_ENTRY = _MAX_WORD + 1 + _ENTRY.size
_MAX_N = 64
_TABLE = 10_000
_LOSSES = {1: "hs", 2: "ns", 3: "softmax", 4: "ova"}
_MODELS = {1: "cbow", 2: "skipgram", 3: "supervised"}


@dataclass(frozen=True)
class _Arguments:
    dim: int
    window: int
    epochs: int
    min_count: int
    negative: int
    word_ngrams: int
    loss: int
    model: int
    buckets: int
    min_n: int
    max_n: int
    update_rate: int
    sample: float


def read(source: Source, *, limit: int | None = None) -> Vectors:
    if source.exactly(4, "the magic number") != MAGIC:
        source.fail("it is not a fastText model: the first four bytes differ")
    (version,) = struct.unpack("<i", source.exactly(4, "the version"))
    if version not in (11, 12):
        source.fail(f"its version is {version}; feedline knows fastText's 11 and 12")
    arguments = _Arguments(
        *_ARGUMENTS.unpack(source.exactly(_ARGUMENTS.size, "the arguments"))
    )
    check_dim(source, arguments.dim, "the arguments")
    raw, counts, tokens = _dictionary(source)
    quantised, rows, dim = _MATRIX.unpack(source.exactly(_MATRIX.size, "the matrix"))
    if quantised:
        _refuse_quantised(source)
    buckets = rows - len(raw)
    if dim != arguments.dim or buckets < 0:
        source.fail(
            f"its matrix is {rows:,} x {dim:,}, but it has {len(raw):,} words of "
            f"dimension {arguments.dim:,}: the file is damaged"
        )
    source.holds(rows * dim * 4, "the matrix")
    matrix = source.array(len(raw), dim, "the word vectors")
    # A supervised model may use buckets for pairs of words: those are no n-grams.
    # Those of version 11 never had n-grams, whatever their arguments say.
    cut = (arguments.min_n, arguments.max_n)
    if cut[1] > _MAX_N:
        source.fail(f"it has n-grams of {cut[1]:,} characters: the file is damaged")
    plain = version == 11 and _MODELS.get(arguments.model) == "supervised"
    grams = None
    if buckets and 1 <= cut[0] <= cut[1] and not plain:
        shared = source.array(buckets, dim, "the n-gram vectors")
        grams = subwords.Subwords(shared, *cut)
        from feedline.words.formats.shared.kernels import add_ngrams

        for start in range(0, len(raw), _TABLE):
            stop = start + _TABLE
            offsets, ids = subwords.table(raw[start:stop], *cut, buckets)
            add_ngrams(matrix[start:stop], shared, offsets, ids)
        _mend(shared, source)  # after: a word that uses such a row is an error
    words = decoded(raw, source.path)
    finite(matrix, words, source.path)
    words, matrix, kept = unique(words, matrix, source.path)
    counts = counts if kept is None else counts[kept]
    return Vectors(
        tuple(words[:limit]),
        matrix[:limit],
        counts[:limit],
        _config(arguments, tokens),
        grams,
    )


def _dictionary(source: Source) -> tuple[list[bytes], NDArray[np.int64], int]:
    """The words' bytes and counts, without the labels; and the tokens."""
    entries, words, labels, tokens, pruned = _SIZES.unpack(
        source.exactly(_SIZES.size, "the dictionary")
    )
    if min(entries, words, labels) < 0 or words + labels != entries:
        source.fail(
            f"its dictionary has {entries:,} entries, {words:,} words and {labels:,} "
            "labels, which do not add up: the file is damaged"
        )
    source.holds(entries * (1 + _ENTRY.size), f"a dictionary of {entries:,} entries")
    if pruned > 0:
        _refuse_quantised(source)
    raw: list[bytes] = []
    counts: list[int] = []
    data, at = b"", 0
    for entry in range(entries):
        end = data.find(b"\0", at)
        while end < 0 or end + 1 + _ENTRY.size > len(data):
            more = source.read(1 << 16) if len(data) - at <= _MAX_ENTRY else b""
            if not more:
                break
            data, at = data[at:] + more, 0
            end = data.find(b"\0")
        if (len(data) if end < 0 else end) - at > _MAX_WORD:
            source.fail(
                f"entry {entry + 1:,} of its dictionary does not end within "
                f"{_MAX_WORD:,} bytes: the file is damaged"
            )
        if end < 0 or end + 1 + _ENTRY.size > len(data):
            source.fail(
                f"it ends at byte {source.at:,}, within entry {entry + 1:,} of "
                f"{entries:,} of its dictionary: the file is cut short"
            )
        count, kind = _ENTRY.unpack_from(data, end + 1)
        if kind not in (0, 1) or count < 0:
            source.fail(
                f"entry {entry + 1:,} of its dictionary has the kind {kind} and the "
                f"count {count:,}: the file is damaged"
            )
        if kind == 0:
            raw.append(data[at:end])
            counts.append(count)
        at = end + 1 + _ENTRY.size
    source.unread(data[at:])
    if len(raw) != words:
        source.fail(
            f"its dictionary promises {words:,} words and has {len(raw):,}: the file "
            "is damaged"
        )
    return raw, np.array(counts, np.int64), tokens


def _mend(shared: NDArray[np.float32], source: Source) -> None:
    """Rows that fastText never wrote may hold anything: zero, where not finite.

    With fewer than ten threads it begins with only a part of its matrix filled.
    """
    bad = 0
    for start in range(0, len(shared), _TABLE):
        block = shared[start : start + _TABLE]
        rows = ~np.isfinite(block).all(axis=1)
        block[rows] = 0
        bad += int(rows.sum())
    if bad:
        log.warning(
            "%s: %s of its n-gram rows hold NaN or infinity: they were taken as zero",
            source.path,
            f"{bad:,}",
        )


def _config(arguments: _Arguments, tokens: int) -> dict[str, object]:
    return {
        "format": "fasttext",
        "model": _MODELS.get(arguments.model, str(arguments.model)),
        "loss": _LOSSES.get(arguments.loss, str(arguments.loss)),
        "dim": arguments.dim,
        "window": arguments.window,
        "epochs": arguments.epochs,
        "min_count": arguments.min_count,
        "negative": arguments.negative,
        "sample": arguments.sample,
        "tokens": tokens,
    }


def _refuse_quantised(source: Source) -> None:
    source.fail(
        "it is a quantised fastText model (.ftz), whose vectors are only "
        "approximations. Give the .bin that it was made from"
    )


FORMAT = Format("fasttext", magic=(MAGIC,), read=read)
