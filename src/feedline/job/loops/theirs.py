"""Objects of the script's that a loop knows: its dataset, its model, its step.

While the loop runs they are held, so that it can be measured. While it rests they are
only known: a script that trains one model after the other, and drops each, gets its
memory back as it does without us.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any


class Theirs:
    """An attribute with such an object, or None; held weakly while its owner is
    `resting`."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = f"_{name}"

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        held = owner.__dict__.get(self._name)
        return held() if isinstance(held, weakref.ref) else held

    def __set__(self, owner: Any, value: Any) -> None:
        owner.__dict__[self._name] = weakly(value) if owner.resting else value


def weakly(value: Any, gone: Callable[[Any], None] | None = None) -> Any:
    """A weak reference; None where there can be none."""
    try:
        return None if value is None else weakref.ref(value, gone)
    except TypeError:
        return None


def rest(owner: Any) -> None:
    """From now on its attributes of this kind are held weakly."""
    owner.resting = True
    for kind in type(owner).__mro__:
        for name, attribute in vars(kind).items():
            if isinstance(attribute, Theirs):
                setattr(owner, name, getattr(owner, name))
