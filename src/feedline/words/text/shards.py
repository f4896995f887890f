"""Encoded text on disk: flat files of word ids, mapped into memory.

    tokens/
      manifest.json     what is here: sizes, checksums, where it came from
      vocabulary.txt    the words of the ids (see vocabulary.py)
      00000.ids         little-endian int32: ids, and END after every sentence
      00001.ids         …

Words outside the vocabulary are left out, and a sentence with no word left is
left out whole, so END never follows END. A sentence may go on from one file to
the next. The directory is made under another name and renamed when complete;
`Shards.open` checks every size and every checksum, so what was half-written or
damaged is found before it is used.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from feedline.errors import CorpusError
from feedline.words.text.unwritable import unwritable, write

END = -1
"""Ends a sentence."""

FORMAT = 1
MANIFEST = "manifest.json"
VOCABULARY = "vocabulary.txt"
# 256 MB a file: few files for a large corpus, and a size every file system takes.
IDS_PER_FILE = 1 << 26

_STEP = 1 << 22


@dataclass(frozen=True)
class ShardFile:
    """One file of ids, as the manifest describes it."""

    name: str
    ids: int
    crc32: int


@dataclass(frozen=True)
class Shards:
    """Ids of a vocabulary, every sentence closed by END."""

    path: Path
    tokens: int
    """Ids, END not counted."""
    sentences: int
    arrays: list[NDArray[np.int32]] = field(repr=False)
    facts: Mapping[str, Any] = field(repr=False)
    """What the maker of the shards noted: where they came from, what was met."""

    @classmethod
    def open(cls, path: Path) -> Shards:
        """Map the files of a directory after checking each of them."""
        path = Path(path)
        if not (path / MANIFEST).exists() and (path / "tokens" / MANIFEST).exists():
            path = path / "tokens"
        manifest = read_manifest(path)
        arrays = [_mapped(path / file.name, file) for file in manifest.files]
        with ThreadPoolExecutor(max_workers=2) as pool:
            paths = [path / file.name for file in manifest.files]
            sums = list(pool.map(_checksum, paths))
        for file, found in zip(manifest.files, sums, strict=True):
            if found != file.crc32:
                raise _damaged(path / file.name, "its checksum is wrong")
        return cls(path, manifest.tokens, manifest.sentences, arrays, manifest.facts)


@dataclass(frozen=True)
class Manifest:
    """What `manifest.json` holds."""

    tokens: int
    sentences: int
    files: tuple[ShardFile, ...]
    vocabulary_crc32: int
    facts: Mapping[str, Any]

    def write(self, directory: Path) -> None:
        """Save it; its own checksum stands in it, over the rest."""
        body = {"format": FORMAT, **asdict(self)}
        body["crc32"] = _body_checksum(body)
        text = json.dumps(body, indent=1).encode()
        write(directory / MANIFEST, text, sync=False)


def read_manifest(path: Path) -> Manifest:
    """The manifest of a directory of shards, checked against itself."""
    file = path / MANIFEST
    try:
        body = json.loads(file.read_bytes())
    except FileNotFoundError as error:
        raise CorpusError(
            f"{path} holds no shards: there is no {MANIFEST} in it. Give the "
            "directory that encoding the corpus made."
        ) from error
    except OSError as error:
        raise _damaged(file, f"it cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise _damaged(file, "it is not JSON") from error
    if not isinstance(body, dict):
        raise _damaged(file, "it is not a manifest")
    if body.get("format") != FORMAT:
        raise _damaged(file, f"its format is {body.get('format')!r}, not {FORMAT}")
    if body.pop("crc32", None) != _body_checksum(body):
        raise _damaged(file, "its checksum is wrong")
    files = tuple(ShardFile(**entry) for entry in body["files"])
    return Manifest(
        body["tokens"],
        body["sentences"],
        files,
        body["vocabulary_crc32"],
        body["facts"],
    )


class ShardWriter:
    """Appends ids to the files of a directory, which exists and is empty."""

    def __init__(self, directory: Path, ids_per_file: int = IDS_PER_FILE) -> None:
        self._directory = directory
        self._ids_per_file = ids_per_file
        self._files: list[ShardFile] = []
        self._open: IO[bytes] | None = None
        self._name = ""
        self._ids = 0
        self._crc32 = 0

    def append(self, ids: NDArray[np.int32]) -> None:
        """Write the ids after those before, in a new file where one is full."""
        while len(ids):
            part = ids[: self._ids_per_file - self._ids]
            data = np.ascontiguousarray(part, dtype="<i4").data.cast("B")
            try:
                if self._open is None:
                    self._name = f"{len(self._files):05}.ids"
                    self._open = (self._directory / self._name).open("xb", buffering=0)
                _write_all(self._open, data)
            except OSError as error:
                raise unwritable(self._directory / self._name, error) from error
            self._crc32 = zlib.crc32(data, self._crc32)
            self._ids += len(part)
            if self._ids == self._ids_per_file:
                self._close_file()
            ids = ids[len(part) :]

    def finish(
        self,
        vocabulary: bytes,
        tokens: int,
        sentences: int,
        facts: Mapping[str, Any],
    ) -> None:
        """Close the last file; write the vocabulary and, last, the manifest."""
        self._close_file()
        write(self._directory / VOCABULARY, vocabulary, sync=False)
        Manifest(
            tokens, sentences, tuple(self._files), zlib.crc32(vocabulary), facts
        ).write(self._directory)

    def close(self) -> None:
        """Let go of a file that was left open by an error."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def _close_file(self) -> None:
        if self._open is None:
            return
        try:
            # No fsync: what a crash of the machine loses, the checksum finds.
            self._open.close()
        except OSError as error:
            raise unwritable(self._directory / self._name, error) from error
        self._open = None
        self._files.append(ShardFile(self._name, self._ids, self._crc32))
        self._ids = self._crc32 = 0


def _write_all(file: IO[bytes], data: memoryview) -> None:
    while data:
        data = data[file.write(data) :]


def _mapped(path: Path, file: ShardFile) -> NDArray[np.int32]:
    if path.name != file.name:
        raise _damaged(path, "its name leads out of the directory")
    try:
        size = path.stat().st_size
        if size != 4 * file.ids:
            raise _damaged(path, f"it has {size} bytes, not {4 * file.ids}")
        return np.memmap(path, dtype="<i4", mode="r", shape=(file.ids,))
    except FileNotFoundError as error:
        raise _damaged(path, "it is missing") from error
    except OSError as error:
        raise _damaged(path, f"it cannot be read ({error.strerror})") from error


def _checksum(path: Path) -> int:
    # Read, not mapped: pages that were mapped would count as this process's memory.
    crc32 = 0
    buffer = memoryview(bytearray(_STEP))
    try:
        with path.open("rb", buffering=0) as file:
            while got := file.readinto(buffer):
                crc32 = zlib.crc32(buffer[:got], crc32)
    except OSError as error:
        raise _damaged(path, f"it cannot be read ({error.strerror})") from error
    return crc32


def _body_checksum(body: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(body, sort_keys=True).encode())


def _damaged(path: Path, reason: str) -> CorpusError:
    return CorpusError(
        f"{path} is damaged: {reason}. Delete {path.parent} and encode the corpus "
        "again."
    )
