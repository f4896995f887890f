"""What a fix's edit may say: its arguments by name, their types and ranges, and whether
it is about one stage. A plan in a file is held to it before the script is started."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_MOST_STAGES = 1_000_000
_MOST = 2**53


@dataclass(frozen=True)
class Arg:
    """One argument: true or false, a whole number in a range, or one of some words."""

    kind: type[bool] | type[int] | type[str]
    least: int = 0
    most: int = _MOST
    among: tuple[str, ...] = ()
    needed: bool = False
    pattern: str = ""

    def problem(self, value: Any) -> str | None:
        """What is wrong with this value, None if nothing is."""
        if type(value) is not self.kind:
            names = {bool: "true or false", int: "a whole number", str: "a text"}
            return f"must be {names[self.kind]}"
        if type(value) is int and not self.least <= value <= self.most:
            return f"must be between {self.least} and {self.most}"
        if self.among and value not in self.among:
            return f"must be one of {', '.join(self.among)}"
        if self.pattern and not re.fullmatch(self.pattern, str(value)):
            return f"must look like {self.pattern}"
        return None


@dataclass(frozen=True)
class Takes:
    """What an edit of one fix holds. `stage`: it is about one stage."""

    stage: bool = False
    args: Mapping[str, Arg] | None = None

    def problem(self, stage: Any, args: Mapping[str, Any]) -> str | None:
        """The first field that is wrong, with its value."""
        known = self.args or {}
        if self.stage and (type(stage) is not int or not 0 <= stage <= _MOST_STAGES):
            return f"stage must be the number of a stage, not {stage!r:.60}"
        if not self.stage and stage is not None:
            return f"stage must be null, not {stage!r:.60}"
        for name, value in args.items():
            if name not in known:
                return f"args has {name!r:.60}, which this fix does not take"
            if wrong := known[name].problem(value):
                return f"args.{name} {wrong}, not {value!r:.60}"
        missing = [
            name for name, arg in known.items() if arg.needed and name not in args
        ]
        return f"args.{missing[0]} is missing" if missing else None


def flag() -> Arg:
    return Arg(bool)


def number(least: int, most: int = _MOST) -> Arg:
    """A whole number that must be there."""
    return Arg(int, least, most, needed=True)


def word(*among: str) -> Arg:
    """One of these, which must be there."""
    return Arg(str, among=among, needed=True)
