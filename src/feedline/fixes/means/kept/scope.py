"""In force only while a stage of the pipeline makes an element, in the thread that
makes it. Everywhere else, and at every other time, all is as the script wrote it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

_local = threading.local()
_lock = threading.Lock()


class Switched(Protocol):
    name: str
    used: bool

    def on(self) -> None: ...
    def off(self) -> None: ...


class Scope:
    """Several threads may be in it at once: what is switched is on while any is."""

    def __init__(self, switched: list[Switched]) -> None:
        self.enabled = True
        self.switched = switched

    def __enter__(self) -> None:
        if not self.enabled:
            return
        with _lock:
            for each in self.switched:
                count = _inside.get(id(each), 0)
                _inside[id(each)] = count + 1
                if count == 0:
                    each.on()
        _local.entered = [*getattr(_local, "entered", ()), self.switched]

    def __exit__(self, *_: object) -> None:
        entered = getattr(_local, "entered", [])
        if not entered or entered[-1] is not self.switched:
            return
        _local.entered = entered[:-1]
        with _lock:
            for each in self.switched:
                _inside[id(each)] -= 1
                if _inside[id(each)] == 0:
                    each.off()


_inside: dict[int, int] = {}


def here() -> bool:
    """Is this thread making an element, and not within what is kept as a whole?"""
    return bool(getattr(_local, "entered", ())) and not getattr(_local, "within", False)


@contextmanager
def outside() -> Iterator[None]:
    """Inside of a result that is kept nothing else need be."""
    before = getattr(_local, "within", False)
    _local.within = True
    try:
        yield
    finally:
        _local.within = before
