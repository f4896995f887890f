"""A directory whose files vouch for each other: tensors, text and a JSON.

    NAME.json          schema, sizes, checksums, and what the owner adds
    NAME.safetensors   the arrays
    others             text

Nothing in it can run code. Arrays are memory-mapped, so loading takes no time and
several processes share one copy. A directory is written beside its place and
renamed; one that exists is only replaced with `force`, file by file with the JSON
last, and the mark that all share tells a reader of a half-replaced one.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feedline import __version__
from feedline.errors import FeedlineError, OutputExists, VectorsError
from feedline.files.sizes import size as shown_size
from feedline.files.whole import flush, replacing_folder
from feedline.words.formats.shared import target

# A checksum reads the whole file: done unasked up to here, where it takes a
# fraction of a second.
_VERIFIED = 256 << 20
_MAX_JSON = 50 << 20
_TYPES = {"F32": "<f4", "I32": "<i4"}


@dataclass(frozen=True)
class Kind:
    """What such a directory is called, and what is in it."""

    what: str
    """As in "holds vectors already"."""
    again: str
    """As in "Save or train the vectors again"."""
    json: str
    tensors: str
    texts: tuple[str, ...]
    error: type[FeedlineError]
    schema: int = 1

    @property
    def files(self) -> tuple[str, ...]:
        """All, the JSON last: it vouches for the others."""
        return (self.tensors, *self.texts, self.json)

    def is_in(self, path: Path) -> bool:
        return path.is_dir() and (path / self.json).is_file()


# Writing ----------------------------------------------------------------------


def check(kind: Kind, path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Where it may be written; an error, before any work, if it may not."""
    folder = Path(path).absolute()
    target.check_folder(folder)
    if folder.exists() and not folder.is_dir():
        raise OutputExists(f"{path} is a file; give the name of a new directory")
    there = [name for name in kind.files if (folder / name).exists()]
    if there and not force:
        raise OutputExists(
            f"{path} holds {kind.what} already ({there[-1]}); give another name, or "
            "--force (force=True) to overwrite them"
        )
    return folder


def write(
    kind: Kind,
    path: str | os.PathLike[str],
    about: Mapping[str, Any],
    tensors: Mapping[str, NDArray[Any]],
    texts: Mapping[str, bytes],
    *,
    force: bool = False,
) -> Path:
    """Save to a directory, which may hold other files already."""
    folder = check(kind, path, force=force)
    try:
        with replacing_folder(folder, kind.files) as part:
            part.mkdir()
            _fill(kind, part, about, tensors, texts)
    except OSError as error:
        raise kind.error(f"cannot write {path}: {error.strerror or error}") from None
    return folder


def _fill(
    kind: Kind,
    folder: Path,
    about: Mapping[str, Any],
    tensors: Mapping[str, NDArray[Any]],
    texts: Mapping[str, bytes],
) -> None:
    from safetensors.numpy import save_file

    mark = secrets.token_hex(16)
    whole = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    save_file(whole, folder / kind.tensors, {"mark": mark})
    for name in kind.texts:
        (folder / name).write_bytes(texts[name])
    # safetensors makes files for their owner only; a result is like any other file.
    mode = (folder / kind.texts[0]).stat().st_mode & 0o777
    (folder / kind.tensors).chmod(mode)
    full = {
        "schema": kind.schema,
        "feedline": __version__,
        "numpy": np.__version__,
        "mark": mark,
        **about,
        "files": {name: _checksum(folder / name) for name in kind.files[:-1]},
    }
    text = json.dumps(full, indent=2, default=_plain) + "\n"
    (folder / kind.json).write_text(text, "utf-8")
    for name in kind.files:
        flush(folder / name)


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


@contextmanager
def reading(
    kind: Kind, path: str | os.PathLike[str], *, verify: bool | None = None
) -> Iterator[tuple[dict[str, Any], dict[str, NDArray[Any]]]]:
    """The JSON and the tensors, checked; whatever goes wrong until the end of the
    context is told as a damaged directory.

    The checksum of the tensors is compared up to 256 MB; `verify` says always or
    never. Sizes and the texts' checksums always are.
    """
    folder = Path(path)
    try:
        about = _about(kind, folder)
        _compare(kind, folder, about, verify)
        yield about, _mapped(kind, folder / kind.tensors, about["mark"])
    except OSError as error:
        name = Path(error.filename).name if error.filename else "a file of it"
        raise kind.error(
            f"cannot read {folder}: {name}: {error.strerror or error}"
        ) from None
    except (KeyError, TypeError, ValueError) as error:
        raise kind.error(
            f"cannot read {folder}: {kind.json} or {kind.tensors} is damaged "
            f"({type(error).__name__}: {error}). {kind.again}"
        ) from None
    except FeedlineError as error:
        raise kind.error(f"cannot read {folder}: {error}") from None


def _about(kind: Kind, folder: Path) -> dict[str, Any]:
    with open(folder / kind.json, "rb") as file:
        raw = file.read(_MAX_JSON + 1)
    if len(raw) > _MAX_JSON:
        raise VectorsError(f"{kind.json} is larger than {shown_size(_MAX_JSON)}")
    try:
        about = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise VectorsError(f"{kind.json} is not JSON ({error})") from None
    if not isinstance(about, dict) or "schema" not in about:
        raise VectorsError(f'{kind.json} is JSON, but has no "schema": not feedline\'s')
    if about["schema"] != kind.schema:
        raise VectorsError(
            f"its schema is {about['schema']!r} and this feedline reads {kind.schema}; "
            "a newer feedline may be needed"
        )
    return about


def _compare(
    kind: Kind, folder: Path, about: dict[str, Any], verify: bool | None
) -> None:
    for name in kind.files[:-1]:
        wanted = about["files"][name]
        size = (folder / name).stat().st_size
        if size != wanted["bytes"]:
            raise VectorsError(
                f"{name} has {size:,} bytes and {kind.json} says {wanted['bytes']:,}: "
                f"it is cut short, or from another saving. {kind.again}"
            )
        all_of_it = size <= _VERIFIED if verify is None else verify
        if (all_of_it or name != kind.tensors) and _checksum(folder / name) != wanted:
            raise VectorsError(
                f"{name} is not what was saved: its checksum differs. It is damaged, "
                f"or from another saving. {kind.again}"
            )


def _mapped(kind: Kind, path: Path, mark: str) -> dict[str, NDArray[Any]]:
    """The tensors, memory-mapped. safetensors checks the layout, then it is mapped:
    its own reader would copy."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            found = dict(file.metadata() or {})
    except SafetensorError as error:
        raise VectorsError(f"{kind.tensors} is damaged ({error})") from None
    if found.get("mark") != mark:
        raise VectorsError(
            f"{kind.tensors} and {kind.json} are of two savings: one was interrupted. "
            f"{kind.again}"
        )
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
    tensors: dict[str, NDArray[Any]] = {}
    for name, tensor in header.items():
        if name == "__metadata__":
            continue
        if tensor["dtype"] not in _TYPES:
            raise VectorsError(
                f"{name} in {kind.tensors} is {tensor['dtype']}, not F32"
            )
        dtype = np.dtype(_TYPES[tensor["dtype"]])
        shape, offset = tuple(tensor["shape"]), 8 + size + tensor["data_offsets"][0]
        if 0 in shape:  # nothing to map
            tensors[name] = np.empty(shape, dtype)
        else:
            tensors[name] = np.memmap(path, dtype, "r", offset, shape)
    return tensors


# Words ------------------------------------------------------------------------


def words_as_text(words: tuple[str, ...], counts: NDArray[np.int64] | None) -> bytes:
    """One `word count` per line, or one `word`."""
    for word in words:
        if not word or "\n" in word:
            raise VectorsError(
                f"the word {word!r} cannot be saved: a word is not empty and holds no "
                "line feed. Rename it first"
            )
    if counts is None:
        lines = [f"{word}\n" for word in words]
    else:
        pairs = zip(words, counts.tolist(), strict=True)
        lines = [f"{word} {count}\n" for word, count in pairs]
    try:
        return "".join(lines).encode()
    except UnicodeEncodeError as error:
        raise VectorsError(
            f"a word has a character that UTF-8 has no bytes for "
            f"({error.object[error.start : error.end]!r}). Rename the word first"
        ) from None


def words_of_text(
    data: bytes, name: str, expected: int, *, counted: bool
) -> tuple[tuple[str, ...], NDArray[np.int64] | None]:
    """What `words_as_text` gave."""
    # Only a line feed ends a line: a word may hold U+2028 or a carriage return.
    lines = data.decode().split("\n")[:-1]
    if len(lines) != expected:
        raise VectorsError(f"{name} has {len(lines):,} words, not {expected:,}")
    if not counted:
        return tuple(lines), None
    pairs = [line.rpartition(" ") for line in lines]
    counts = np.array([int(count) for _, _, count in pairs], np.int64)
    return tuple(word for word, _, _ in pairs), counts
