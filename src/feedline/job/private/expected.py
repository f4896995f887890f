"""A private module of another library, and what feedline expects to find in it."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from feedline.job.private.attribute import changed


@dataclass(frozen=True)
class Expected:
    """`module` has all of `names`; with `only` set, that one of them is meant and not
    the module. `optional`: releases that feedline supports have no such module."""

    module: str
    names: tuple[str, ...] = ()
    only: str = ""
    optional: bool = False

    def load(self) -> Any:
        """The module, or the one name. Raises `ImportError` where it is not there."""
        found = importlib.import_module(self.module)
        return getattr(found, self.only) if self.only else found

    def missing(self) -> str:
        """What is not as expected, in words; empty where all is."""
        try:
            found = importlib.import_module(self.module)
        except ImportError as error:
            return "" if self.optional else f"no module {self.module}: {error}"
        wanted = (*self.names, self.only) if self.only else self.names
        gone = [name for name in wanted if not hasattr(found, name)]
        return f"{self.module} has no {', '.join(gone)}" if gone else ""


def load(library: str, table: Mapping[str, Expected], name: str) -> Any:
    """What the file of this library, the one with this table, knows as `name`."""
    if name not in table:
        raise AttributeError(f"feedline/job/private/{library}.py has no {name}")
    try:
        return table[name].load()
    except (ImportError, AttributeError) as error:
        importlib.import_module(library)
        raise ImportError(changed(library, error)) from error
