"""NumPy's own files, without pickle.

`.npz` holds `words` (text), `vectors` and, where known, `counts`. `.npy` is the
matrix alone, memory-mapped when read; its words are in a `.txt` of the same name,
one per line.
"""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feedline.errors import VectorsError
from feedline.words.formats.format import Format
from feedline.words.formats.shared import target
from feedline.words.formats.shared.source import Source, decoded, finite, unique
from feedline.words.vectors.vectors import Vectors


def read(source: Source, *, limit: int | None = None) -> Vectors:
    if source.size is None:
        source.fail("a NumPy file is not read compressed: unpack it first")
    path = source.path
    try:
        if zipfile.is_zipfile(path):
            words, matrix, counts = _npz(path)
        else:
            words, matrix, counts = _npy(path)
    except (
        OSError,
        ValueError,
        EOFError,
        MemoryError,
        SyntaxError,
        TypeError,
        OverflowError,
        NotImplementedError,
        RuntimeError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise VectorsError(
            f"cannot read {path}: it is not a NumPy file of vectors ({error})"
        ) from None
    if matrix.ndim != 2 or matrix.dtype.kind != "f":
        raise VectorsError(
            f"cannot read {path}: its array is {matrix.dtype} of shape {matrix.shape}; "
            "vectors are floats of words by dimension"
        )
    if len(words) != len(matrix) or (counts is not None and len(counts) != len(words)):
        raise VectorsError(
            f"cannot read {path}: it has {len(words):,} words and {len(matrix):,} "
            "vectors: one for each"
        )
    rows = np.asanyarray(matrix[:limit], np.float32)
    kept: NDArray[np.int64] | None
    words, rows, kept = unique(words[:limit], rows, path)
    finite(rows, words, path)
    if counts is not None:
        counts = counts[:limit] if kept is None else counts[:limit][kept]
    return Vectors(tuple(words), rows, counts, {"format": "numpy"})


def _npz(path: Path) -> tuple[list[str], Any, Any]:
    with zipfile.ZipFile(path) as archive:
        names = {i.filename.removesuffix(".npy"): i for i in archive.infolist()}
        missing = [name for name in ("words", "vectors") if name not in names]
        if missing:
            there = ", ".join(sorted(names)) or "nothing"
            raise ValueError(f"it has no {missing[0]!r}, only {there}")
        words = _member(archive, names["words"])
        if words.ndim != 1 or words.dtype.kind not in "US":
            raise ValueError(f"its words are {words.dtype}, not text")
        matrix = _member(archive, names["vectors"])
        counts = _member(archive, names["counts"]) if "counts" in names else None
    if counts is not None and (counts.ndim != 1 or counts.dtype.kind not in "iu"):
        raise ValueError(f"its counts are {counts.dtype}, not whole numbers")
    if words.dtype.kind == "S":
        return decoded(words.tolist(), path), matrix, counts
    return words.tolist(), matrix, counts


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> NDArray[Any]:
    """One array, after a look at its header: it allocates what is really there."""
    with archive.open(info) as file:
        version = np.lib.format.read_magic(file)
        reader = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        shape, _, dtype = reader(file)
        size = dtype.itemsize
        for length in shape:
            size *= length
        # Deflate packs at most about 1032 to 1, so a small file holds little.
        if size > info.file_size or info.file_size > 1100 * info.compress_size + 1024:
            raise ValueError(
                f"{info.filename} promises {size:,} bytes and has {info.file_size:,}"
            )
    with archive.open(info) as file:
        return np.asarray(np.lib.format.read_array(file, allow_pickle=False))


def _npy(path: Path) -> tuple[list[str], Any, Any]:
    beside = path.with_suffix(".txt")
    if not beside.is_file():
        raise ValueError(f"its words, one per line, should be in {beside.name}")
    raw = beside.read_bytes().split(b"\n")
    if raw and not raw[-1]:
        raw.pop()
    matrix = np.load(path, mmap_mode="r", allow_pickle=False)
    return decoded([word.removesuffix(b"\r") for word in raw], path), matrix, None


def check(path: Path, *, force: bool) -> None:
    if path.suffix == ".npy":
        target.check(path.with_suffix(".txt"), force=force)


def write(vectors: Vectors, path: Path) -> None:
    if path.suffix == ".npy":
        write_words(vectors, path.with_suffix(".txt"))
        with target.written(path) as file:
            np.save(file, vectors.matrix, allow_pickle=False)
        return
    for word in vectors.words:
        if word.endswith("\0"):
            raise VectorsError(
                f"the word {word!r} ends with a zero byte, which NumPy's text drops"
            )
    arrays: dict[str, NDArray[Any]] = {
        "words": np.array(vectors.words, dtype=np.str_),
        "vectors": vectors.matrix,
    }
    if vectors.counts is not None:
        arrays["counts"] = vectors.counts
    with target.written(path) as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def write_words(vectors: Vectors, path: Path) -> None:
    for word in vectors.words:
        if "\n" in word or word.endswith("\r"):
            raise VectorsError(
                f"the word {word!r} cannot be in a file of one word per line. "
                "Export as .npz, which takes any word"
            )
    with target.written(path) as file:
        file.write("".join(f"{word}\n" for word in vectors.words).encode())


FORMAT = Format(
    "numpy",
    used_by="numpy.load; words in OUT's .txt with .npy",
    endings=(".npz", ".npy"),
    magic=(b"\x93NUMPY", b"PK\x03\x04", b"PK\x05\x06"),
    read=read,
    write=write,
    check=check,
)
