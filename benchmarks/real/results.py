"""Results of the gallery, kept per script, so that a stopped run is taken up again."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

KINDS = ("plain", "first", "second", "why", "hand", "hand_numeric")


class Results:
    """A JSON file: for each script the hash of its text and its runs of each kind."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept: dict[str, Any] = {}
        if path.exists():
            self._kept = json.loads(path.read_text(encoding="utf-8"))

    def of(self, name: str, texts: str) -> dict[str, list[dict[str, Any]]]:
        """The runs of a script; none where its text has changed since."""
        kept = self._kept.get(name)
        if kept is None or kept["texts"] != texts:
            kept = {"texts": texts, **{kind: [] for kind in KINDS}}
            self._kept[name] = kept
        return {kind: kept.setdefault(kind, []) for kind in KINDS}

    def forget(self, name: str, kinds: tuple[str, ...] = KINDS) -> None:
        for kind in kinds:
            if name in self._kept:
                self._kept[name][kind] = []

    def add(self, name: str, kind: str, run: dict[str, Any]) -> None:
        self._kept[name][kind].append(run)
        self.write(self._path)

    def write(self, path: Path) -> None:
        new = path.with_name(f"{path.name}.new")
        new.write_text(json.dumps(self._kept, indent=1), encoding="utf-8")
        os.replace(new, path)
