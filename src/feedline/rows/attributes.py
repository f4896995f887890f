"""Methods of one object, replaced and put back.

Only the object's own `__dict__` is written, past `__setattr__`: Keras and
TensorFlow track what is set there, and neither the class, the config, nor
anything that is saved may notice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Attributes:
    """What was replaced, in order, so that it can be undone."""

    _replaced: list[tuple[Any, str, Any]] = field(default_factory=list)

    def replace(
        self, owner: Any, name: str, make: Callable[[Callable[..., Any]], Any]
    ) -> None:
        """`make` is given the method as it is and returns the one in its place."""
        method = make(getattr(owner, name))
        vars(owner)[name] = method
        self._replaced.append((owner, name, method))

    def restore(self) -> None:
        """What someone else has replaced since is theirs and stays."""
        while self._replaced:
            owner, name, method = self._replaced.pop()
            if vars(owner).get(name) is method:
                del vars(owner)[name]
