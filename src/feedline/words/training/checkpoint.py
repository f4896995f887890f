"""Checkpoints: where training stands, so that it can go on after anything.

    training/
      checkpoint.json                what, where, and the checksum of the other file
      checkpoint-<n>.safetensors     the matrices, without padding

The matrices are written under a name of their own, synced, and only then does the
JSON, replaced in one step, come to speak of them. Killed at any moment, the JSON
speaks of a whole file. The safetensors are written here row by row, because the
library would make a copy of every matrix first; it is what reads them.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from feedline.errors import TrainingError
from feedline.files.whole import replacing
from feedline.words.training.task import Tensor

FORMAT = 1
FOLDER = "training"
JSON = "checkpoint.json"
_CHUNK = 1 << 13


@dataclass(frozen=True)
class Checkpoint:
    """Where training stands, and what it was asked to do."""

    record: Mapping[str, Any]
    """The options and the corpus: a run that goes on must have the same."""
    epoch: int
    place: int
    """Of the epoch's order: the first block that was not trained on."""
    state: Mapping[str, Any]
    """What else the driver keeps: time used, losses."""
    tensors: Path
    finished: bool = False


def write(
    folder: Path,
    record: Mapping[str, Any],
    epoch: int,
    place: int,
    state: Mapping[str, Any],
    tensors: Mapping[str, Tensor],
    *,
    finished: bool = False,
) -> None:
    """Save it all, whole or not at all; the one before is then deleted."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        name = f"checkpoint-{epoch:04}-{place:08}.safetensors"
        checksum = write_tensors(folder / name, tensors)
        body = {
            "format": FORMAT,
            "record": dict(record),
            "epoch": epoch,
            "place": place,
            "state": dict(state),
            "tensors": name,
            "sha256": checksum,
            "finished": finished,
        }
        body["check"] = _check(body)
        _replace(folder / JSON, json.dumps(body, indent=1).encode())
        for old in folder.glob("checkpoint-*.safetensors*"):
            if old.name != name:
                old.unlink(missing_ok=True)
    except OSError as error:
        raise TrainingError(
            f"the checkpoint in {folder} cannot be written: {error.strerror or error}. "
            "Free some space, or train into another directory; the previous checkpoint "
            "is intact."
        ) from error


def read(folder: Path) -> Checkpoint | None:
    """The checkpoint in a directory, or None where there is none."""
    path = folder / JSON
    try:
        body = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _damaged(path, error.strerror or str(error)) from error
    except ValueError as error:
        raise _damaged(path, "it is not JSON") from error
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise _damaged(path, f"its format is not {FORMAT}")
    if body.pop("check", None) != _check(body):
        raise _damaged(path, "its checksum is wrong")
    tensors = folder / Path(body["tensors"]).name
    if _sha256(tensors) != body["sha256"]:
        raise _damaged(tensors, "its checksum is wrong")
    return Checkpoint(
        body["record"],
        body["epoch"],
        body["place"],
        body["state"],
        tensors,
        body["finished"],
    )


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> str:
    """Write matrices as safetensors under `path`; the file's SHA-256."""
    header: dict[str, Any] = {"__metadata__": {"format": "np"}}
    offset = 0
    for name, tensor in tensors.items():
        end = offset + 4 * tensor.rows * tensor.columns
        header[name] = {
            "dtype": "F32",
            "shape": [tensor.rows, tensor.columns],
            "data_offsets": [offset, end],
        }
        offset = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    digest = hashlib.sha256()
    with _replacing(path) as part, part.open("wb", buffering=0) as file:

        def put(data: Any) -> None:
            view = memoryview(data).cast("B")
            digest.update(view)
            while view:
                view = view[file.write(view) :]

        put(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            for low in range(0, tensor.rows, _CHUNK):
                high = min(tensor.rows, low + _CHUNK)
                rows = tensor.matrix[low:high, : tensor.columns]
                put(np.ascontiguousarray(rows, dtype="<f4"))
    return digest.hexdigest()


def read_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Fill matrices with what `write_tensors` wrote, row by row."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            for name, tensor in tensors.items():
                source = file.get_slice(name)
                if source.get_shape() != [tensor.rows, tensor.columns]:
                    raise _damaged(
                        path,
                        f"{name} has shape {source.get_shape()}, not "
                        f"{[tensor.rows, tensor.columns]}",
                    )
                for low in range(0, tensor.rows, _CHUNK):
                    high = min(tensor.rows, low + _CHUNK)
                    tensor.matrix[low:high, : tensor.columns] = source[low:high]
    except (OSError, SafetensorError) as error:
        raise _damaged(path, str(error)) from error


def _replace(path: Path, data: bytes) -> None:
    with _replacing(path) as part:
        part.write_bytes(data)


def _replacing(path: Path) -> AbstractContextManager[Path]:
    """By a name that the next run overwrites, should this one be killed."""
    return replacing(path, part=path.with_name(path.name + ".part"))


def _check(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise _damaged(path, error.strerror or str(error)) from error
    return digest.hexdigest()


def _damaged(path: Path, reason: str) -> TrainingError:
    return TrainingError(
        f"{path} is damaged: {reason}. Delete {path.parent} and train again without "
        "resuming."
    )
