"""All that a function can reach: what it closes over, its defaults, its object, the
global names that it uses, and what these hold in turn.

From holder to held only, which is safe at any moment: what a living object holds is
alive. The other way round (`gc.get_referrers`, `gc.get_objects`) meets objects that
other threads are taking down.
"""

from __future__ import annotations

import gc
import types
from collections import deque
from collections.abc import Iterator
from typing import Any

_MOST = 20_000  # objects: a function that reaches more than that reaches everything


def reached_from(start: Any) -> Iterator[Any]:
    """Each once, the nearest first."""
    waiting, seen = deque([start]), {id(start)}
    while waiting and len(seen) < _MOST:
        one = waiting.popleft()
        yield one
        for each in _held(one):
            if id(each) not in seen:
                seen.add(id(each))
                waiting.append(each)


def _held(one: Any) -> list[Any]:
    if isinstance(one, types.ModuleType | type | types.FrameType):
        return []  # from there on everything can be reached
    if not isinstance(one, types.FunctionType):
        return gc.get_referents(one)
    names = [*one.__code__.co_names]
    for inner in one.__code__.co_consts:
        if isinstance(inner, types.CodeType):
            names += inner.co_names
    used = [one.__globals__[name] for name in names if name in one.__globals__]
    return [*used, one.__closure__, one.__defaults__, one.__kwdefaults__, vars(one)]
