"""`Part`: one part of a job as plain words, which a plan can keep and compare. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

UNTOLD = "cannot be told"
"""Told of what cannot be told: it is never the same as anything."""


@dataclass(frozen=True)
class Part:
    """A part of a job: `key` is its place, `name` what a person calls it, `facts` what
    is told of it, each under a name of its own."""

    key: str
    name: str
    facts: Mapping[str, str] = field(default_factory=dict)


def digest(told: Any) -> str:
    return hashlib.blake2b(repr(told).encode(), digest_size=16).hexdigest()
