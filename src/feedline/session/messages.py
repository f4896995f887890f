"""What the command tells the process of the script, and what it hears from it.

Both are written as JSON, by `process/channel.py`. A path or an argument that is no
valid Unicode comes through as it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, TypeVar

Mode = Literal["why", "run", "rehearse"]
"""why       measure the script, then stop it
run       cure what can be cured, and run it to its end
rehearse  find out what would cure it, then stop it"""

M = TypeVar("M", "Order", "Outcome")


@dataclass(frozen=True)
class Order:
    """What to do with which script."""

    mode: Mode
    target: tuple[str, ...]
    module: bool
    seconds: float
    loop: int | None = None
    patient: bool = True
    """Wait until a loop is warm; else measure its first steps."""
    allow: tuple[str, ...] = ("exact",)
    plan: Mapping[str, Any] | None = field(default=None, repr=False)
    live: bool = False
    everything: bool = False
    """Rehearse even what could be measured in the run itself."""
    scratch: str | None = None
    """The only folder in which a rehearsal may write; None: it may anywhere."""
    told: bool = False
    """It was said already why a loop of the script's own is not cured."""
    parent: int | None = None
    voice: int | None = None
    """The descriptor of the standard error that feedline speaks to."""
    unblocked: tuple[int, ...] | None = None
    """The mask of signals to put back before the script begins."""

    def to_bytes(self) -> bytes:
        return _written(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> Order:
        return _read(cls, data)


@dataclass(frozen=True)
class Outcome:
    """What is known so far. Sent more than once: the last one counts."""

    report: Mapping[str, Any] | None = field(default=None, repr=False)
    plan: Mapping[str, Any] | None = field(default=None, repr=False)
    """The plan that was made or used."""
    rehearsed: bool = False
    """A rehearsal came to its end; `plan` is what it found, if it found anything."""
    why_not: str = ""
    """Why a rehearsal found nothing; empty where the run itself can be cured."""
    refused: str = ""
    """The script cannot be run or measured, and the user can do something about it."""
    exit_code: int = 2
    """Of feedline, where it refuses."""
    failed: str = ""
    """feedline failed: the traceback."""
    seen: tuple[str, ...] = ()
    short: int | None = None
    """The number of a loop that was too short to be measured in passing."""
    tensorflow: bool = True
    loops: int = 0
    applied: bool = False
    steps: int = 0
    training_s: float = 0.0
    measuring_s: float = 0.0

    def to_bytes(self) -> bytes:
        return _written(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> Outcome:
        return _read(cls, data)


def _written(message: Order | Outcome) -> bytes:
    return json.dumps(asdict(message)).encode("ascii")


def _read(kind: type[M], data: bytes) -> M:
    """Raises ValueError or TypeError for anything but such a message."""
    values = json.loads(data)
    known = {each.name for each in fields(kind)}
    if not isinstance(values, dict) or not set(values) <= known:
        raise ValueError(f"it is no {kind.__name__.lower()}")
    tuples = {name: tuple(v) for name, v in values.items() if isinstance(v, list)}
    return kind(**{**values, **tuples})
