"""A private attribute of another library's objects, read and set by one name.

map_func = Attribute("tensorflow", "_map_func")
map_func(dataset)             the value; where a release has moved it, `Moved` says so
map_func.get(dataset, None)   the value, or another where there is none
map_func.on(dataset)          is it there?
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any


class Moved(AttributeError):
    """An object has no such attribute; the message names the file to change."""


@dataclass(frozen=True)
class Attribute:
    library: str
    name: str

    def __call__(self, owner: Any) -> Any:
        try:
            return getattr(owner, self.name)
        except AttributeError as error:
            raise Moved(changed(self.library, error)) from error

    def get(self, owner: Any, default: Any = None) -> Any:
        return getattr(owner, self.name, default)

    def on(self, owner: Any) -> bool:
        return hasattr(owner, self.name)

    def set(self, owner: Any, value: Any) -> None:
        setattr(owner, self.name, value)


def changed(library: str, error: Exception) -> str:
    """What to say where a library is not as `job/private` expects it."""
    version = getattr(sys.modules.get(library), "__version__", "?")
    return (
        f"{library} {version} has changed inside ({error}); "
        f"feedline/job/private/{library}.py has to learn about it"
    )
