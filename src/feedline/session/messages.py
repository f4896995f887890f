"""What the command tells the process of the script, and what it hears from it.

Frozen values, written as JSON text and carried by `process/channel.py`. Python's own
`json` writes the text, because a path or an argument that is no valid Unicode must come
through as it is; msgspec checks every field against its type. A message of another
version, or a damaged one, is a ValueError.
"""

from __future__ import annotations

import json
from typing import Literal, TypeVar

import msgspec

from feedline.fixes.saved import SavedPlan
from feedline.report.basis import Basis, Trained, plain_value
from feedline.session.plans.memory import Remembered, Uncured

Mode = Literal["why", "run", "rehearse"]
"""why       measure the script, then stop it
run       fix what can be fixed, and run it to its end
rehearse  find out what would fix it, then stop it"""


class Order(msgspec.Struct, frozen=True, tag="order", forbid_unknown_fields=True):
    """What to do with which script."""

    mode: Mode
    target: tuple[str, ...]
    module: bool
    seconds: float
    """The most that measuring may take."""
    loop: int | None = None
    given: bool = True
    """The user named `seconds`; else they are a part of the training at most."""
    patient: bool = True
    """Wait until a loop is warm; else measure its first steps."""
    allow: tuple[str, ...] = ("exact",)
    plan: SavedPlan | None = None
    remembered: tuple[Remembered, ...] = ()
    """Plans of earlier runs of this script."""
    trained_s: dict[str, float] = {}
    """The seconds that the last run trained at each line, if the script is the same."""
    too_short: tuple[str, ...] = ()
    """Lines whose training was too short to be measured then."""
    live: bool = False
    everything: bool = False
    """Rehearse even what could be measured in the run itself."""
    scratch: str | None = None
    """The only folder in which a rehearsal may write; None: it may anywhere."""
    told: bool = False
    """The user was already told why a loop of the script's own is not fixed."""
    parent: int | None = None
    voice: int | None = None
    """The descriptor of the standard error that feedline speaks to."""
    unblocked: tuple[int, ...] | None = None
    """The mask of signals to put back before the script begins."""


class Outcome(msgspec.Struct, frozen=True, tag="outcome", forbid_unknown_fields=True):
    """What is known so far. Sent more than once: the last one counts."""

    basis: Basis | None = None
    """The job, its measurement and what was proved; the parent judges it."""
    plan: SavedPlan | None = None
    """The plan that was made or used."""
    learned: tuple[Remembered, ...] = ()
    """What the next run of this script may use."""
    rehearsed: bool = False
    """A rehearsal came to its end; `plan` is what it found, if it found anything."""
    why_not: str = ""
    """Why a rehearsal found nothing; empty where the run itself can be fixed."""
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
    trained: Trained = Trained()
    trained_s: dict[str, float] = {}
    """The seconds of all fits at each line."""
    too_short: tuple[str, ...] = ()
    """Lines whose training was too short to be measured."""
    uncured: Uncured | None = None


M = TypeVar("M", Order, Outcome)


def encode(message: Order | Outcome) -> bytes:
    """Raises TypeError where something in it is no plain data."""
    data = msgspec.to_builtins(message, enc_hook=plain_value)
    return json.dumps(data).encode("ascii")


def decode(kind: type[M], data: bytes) -> M:
    """Raises ValueError for anything but such a message."""
    try:
        return msgspec.convert(json.loads(data), kind)
    except (ValueError, msgspec.ValidationError, RecursionError) as error:
        raise ValueError(f"it is no {kind.__name__.lower()}: {error}") from None
