"""feedline's own form of vectors: a directory of three files.

    vectors.json          schema, sizes, checksums, versions and the training's config
    vectors.safetensors   "matrix", and "subwords" where there are any: float32
    vocabulary.txt        one `word count` per line, or one `word`

Nothing in it can run code. The matrix is memory-mapped, so loading takes no time
and several processes share one copy. A directory is written beside its place and
renamed; one that exists is only replaced with `force`, file by file with the JSON
last, and the mark that all three share tells a reader of a half-replaced one.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feedline import __version__
from feedline.errors import OutputExists, VectorsError
from feedline.words.formats import target
from feedline.words.subwords import Subwords
from feedline.words.vectors import Vectors

SCHEMA = 1
JSON, TENSORS, WORDS = "vectors.json", "vectors.safetensors", "vocabulary.txt"

# A checksum reads the whole file: done unasked up to here, where it takes a
# fraction of a second.
_VERIFIED = 256 << 20
_MAX_JSON = 50 << 20


# Writing ----------------------------------------------------------------------


def write(
    vectors: Vectors, path: str | os.PathLike[str], *, force: bool = False
) -> Path:
    """Save to a directory, which may hold other files already."""
    folder = Path(path).absolute()
    target.check_folder(folder)
    if folder.exists() and not folder.is_dir():
        raise OutputExists(f"{path} is a file; give the name of a new directory")
    there = [name for name in (JSON, TENSORS, WORDS) if (folder / name).exists()]
    if there and not force:
        raise OutputExists(
            f"{path} holds vectors already ({there[0]}); give another name, or "
            "--force (force=True) to overwrite them"
        )
    part = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.part")
    try:
        part.mkdir()
        _fill(vectors, part)
        if folder.is_dir():
            # Its other files stay; the JSON comes last, as it vouches for the rest.
            for name in (TENSORS, WORDS, JSON):
                os.replace(part / name, folder / name)
        else:
            os.rename(part, folder)
    except OSError as error:
        raise VectorsError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return folder


def _fill(vectors: Vectors, folder: Path) -> None:
    from safetensors.numpy import save_file

    words = _as_text(vectors)
    mark = secrets.token_hex(16)
    tensors = {"matrix": np.ascontiguousarray(vectors.matrix)}
    if vectors.subwords is not None:
        tensors["subwords"] = np.ascontiguousarray(vectors.subwords.matrix)
    save_file(tensors, folder / TENSORS, {"mark": mark})
    (folder / WORDS).write_bytes(words)
    # safetensors makes files for their owner only; a result is like any other file.
    (folder / TENSORS).chmod((folder / WORDS).stat().st_mode & 0o777)
    grams = vectors.subwords
    about = {
        "schema": SCHEMA,
        "feedline": __version__,
        "numpy": np.__version__,
        "mark": mark,
        "words": len(vectors),
        "dim": vectors.dim,
        "counts": vectors.counts is not None,
        "subwords": None
        if grams is None
        else {"buckets": grams.buckets, "min_n": grams.min_n, "max_n": grams.max_n},
        "config": dict(vectors.config),
        "files": {name: _checksum(folder / name) for name in (TENSORS, WORDS)},
    }
    text = json.dumps(about, indent=2, default=_plain) + "\n"
    (folder / JSON).write_text(text, "utf-8")
    for name in (TENSORS, WORDS, JSON):
        target.sync(folder / name)


def _as_text(vectors: Vectors) -> bytes:
    for word in vectors.words:
        if not word or "\n" in word:
            raise VectorsError(
                f"the word {word!r} cannot be saved: a word is not empty and holds no "
                "line feed. Rename it first"
            )
    if vectors.counts is None:
        lines = [f"{word}\n" for word in vectors.words]
    else:
        lines = [
            f"{word} {count}\n"
            for word, count in zip(vectors.words, vectors.counts.tolist(), strict=True)
        ]
    try:
        return "".join(lines).encode()
    except UnicodeEncodeError as error:
        raise VectorsError(
            f"a word has a character that UTF-8 has no bytes for "
            f"({error.object[error.start : error.end]!r}). Rename the word first"
        ) from None


def _plain(value: Any) -> Any:
    """What JSON does not know: NumPy's numbers, paths and the like."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    return dict(value) if isinstance(value, Mapping) else str(value)


def _checksum(path: Path) -> dict[str, Any]:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return {"bytes": path.stat().st_size, "sha256": digest.hexdigest()}


# Reading ----------------------------------------------------------------------


def is_ours(path: Path) -> bool:
    return path.is_dir() and (path / JSON).is_file()


def read(path: str | os.PathLike[str], *, verify: bool | None = None) -> Vectors:
    """Load a saved directory.

    The checksum of the matrix is compared up to 256 MB; `verify` says always or
    never. Sizes and the vocabulary's checksum always are.
    """
    folder = Path(path)
    try:
        about = _about(folder)
        _compare(folder, about, verify)
        tensors = _mapped(folder / TENSORS, about["mark"])
        words, counts = _words((folder / WORDS).read_bytes(), about)
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
    except OSError as error:
        name = Path(error.filename).name if error.filename else "a file of it"
        raise VectorsError(
            f"cannot read {folder}: {name}: {error.strerror or error}"
        ) from None
    except (KeyError, TypeError, ValueError) as error:
        raise VectorsError(
            f"cannot read {folder}: {JSON} or {TENSORS} is damaged "
            f"({type(error).__name__}: {error}). Save or train the vectors again"
        ) from None
    except VectorsError as error:
        raise VectorsError(f"cannot read {folder}: {error}") from None


def _about(folder: Path) -> dict[str, Any]:
    with open(folder / JSON, "rb") as file:
        raw = file.read(_MAX_JSON + 1)
    if len(raw) > _MAX_JSON:
        raise VectorsError(f"{JSON} is larger than {_MAX_JSON >> 20} MB")
    try:
        about = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise VectorsError(f"{JSON} is not JSON ({error})") from None
    if not isinstance(about, dict) or "schema" not in about:
        raise VectorsError(f'{JSON} is JSON, but has no "schema": not feedline\'s')
    if about["schema"] != SCHEMA:
        raise VectorsError(
            f"its schema is {about['schema']!r} and this feedline reads {SCHEMA}; a "
            "newer feedline may be needed"
        )
    return about


def _compare(folder: Path, about: dict[str, Any], verify: bool | None) -> None:
    for name in (TENSORS, WORDS):
        wanted = about["files"][name]
        size = (folder / name).stat().st_size
        if size != wanted["bytes"]:
            raise VectorsError(
                f"{name} has {size:,} bytes and {JSON} says {wanted['bytes']:,}: it is "
                "cut short, or from another saving. Save or train the vectors again"
            )
        all_of_it = size <= _VERIFIED if verify is None else verify
        if (all_of_it or name == WORDS) and _checksum(folder / name) != wanted:
            raise VectorsError(
                f"{name} is not what was saved: its checksum differs. It is damaged, "
                "or from another saving. Save or train the vectors again"
            )


def _mapped(path: Path, mark: str) -> dict[str, NDArray[np.float32]]:
    """The tensors, memory-mapped. safetensors checks the layout, then it is mapped:
    its own reader would copy."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            found = dict(file.metadata() or {})
    except SafetensorError as error:
        raise VectorsError(f"{TENSORS} is damaged ({error})") from None
    if found.get("mark") != mark:
        raise VectorsError(
            f"{TENSORS} and {JSON} are of two savings: one was interrupted. Save or "
            "train the vectors again"
        )
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
    tensors = {}
    for name, tensor in header.items():
        if name == "__metadata__":
            continue
        if tensor["dtype"] != "F32":
            raise VectorsError(f"{name} in {TENSORS} is {tensor['dtype']}, not F32")
        shape, offset = tuple(tensor["shape"]), 8 + size + tensor["data_offsets"][0]
        if 0 in shape:  # nothing to map
            tensors[name] = np.empty(shape, np.float32)
        else:
            tensors[name] = np.memmap(path, "<f4", "r", offset, shape)
    return tensors


def _words(
    data: bytes, about: dict[str, Any]
) -> tuple[tuple[str, ...], NDArray[np.int64] | None]:
    # Only a line feed ends a line: a word may hold U+2028 or a carriage return.
    lines = data.decode().split("\n")[:-1]
    if len(lines) != about["words"]:
        raise VectorsError(f"{WORDS} has {len(lines):,} words, not {about['words']:,}")
    if not about["counts"]:
        return tuple(lines), None
    pairs = [line.rpartition(" ") for line in lines]
    counts = np.array([int(count) for _, _, count in pairs], np.int64)
    return tuple(word for word, _, _ in pairs), counts
