"""What a step depends on besides its arguments: values that it finds somewhere. Once
the script has put something else there, a graph of the step is no longer the same."""

from __future__ import annotations

import types
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Dependency:
    """A value in a module, a closure, an object: `there` is what has it, `name` under
    which name, `said` how the user would call it; the class itself stands for no value.
    With no name, `there` is a list or a dict, and `value` what is in it."""

    there: Any
    name: Any
    value: Any
    said: str = "what it uses"

    def is_same(self) -> bool:
        there = self.there
        if isinstance(there, types.CellType):
            try:
                return there.cell_contents is self.value
            except ValueError:  # it was deleted
                return False
        if self.name is None:
            now = contents(there)
            return len(now) == len(self.value) and all(
                one is other for one, other in zip(now, self.value, strict=True)
            )
        return there.get(self.name, Dependency) is self.value


def contents(container: Any) -> tuple[Any, ...]:
    """What is in a list, or in a dict with its keys."""
    if isinstance(container, dict):
        return (*container.keys(), *container.values())
    return tuple(container)
