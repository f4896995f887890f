"""What an entry of the store says of itself, with a checksum of that."""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict, dataclass
from typing import Any

SCHEMA = 1


@dataclass(frozen=True)
class Manifest:
    """What an entry says of itself. `spec` is the element spec as TensorFlow
    writes it, empty where it cannot; `components` the tensors of an element."""

    key: str
    tensorflow: str
    rows: str
    count: int
    cardinality: int
    components: tuple[str, ...]
    spec: str
    bytes: int
    checksums: tuple[int, ...]
    schema: int = SCHEMA

    def to_json(self) -> str:
        values = asdict(self)
        return json.dumps({**values, "check": _check(values)}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Manifest:
        """Raises ValueError for anything but an undamaged manifest."""
        values = json.loads(text)
        if not isinstance(values, dict) or values.pop("check", None) != _check(values):
            raise ValueError("the manifest is damaged")
        if values.get("schema") != SCHEMA:
            raise ValueError(f"schema {values.get('schema')} is not {SCHEMA}")
        for name in ("components", "checksums"):
            values[name] = tuple(values[name])
        return cls(**values)


def _check(values: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(values, sort_keys=True).encode())
