"""Is an object held by anybody but those that we know?

Counted, not searched: Python knows how many references there are to an object, and we
take away those that we can account for. What is left is somebody's, a variable, a
running function, a container, whoever it is; so what nobody thought of is on the safe
side. To ask the garbage collector who the holders are (`gc.get_referrers`) is not an
option in somebody else's process: it looks into objects that other threads are making
or taking down at that moment, and was seen to bring the process down.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any


def held_by_others(values: list[Any], by: list[dict[str, Any]]) -> list[bool]:
    """For each of `values`: does anything hold it but this list and the attributes
    `by`, directly or in a container that is theirs alone?"""
    known = _accounted_for(by)
    values.append(object())  # held by the list alone: how many that makes
    alone = sys.getrefcount(values[-1])
    return [
        sys.getrefcount(values[at]) - alone > known[id(values[at])]
        for at in range(len(values) - 1)
    ]


def _accounted_for(holders: list[dict[str, Any]]) -> Counter[int]:
    """How often each object is held, by its identity."""
    found: Counter[int] = Counter()
    inside: list[Any] = [*holders]
    alone = _alone()
    while inside:
        container = inside.pop()
        items = [*(container.values() if isinstance(container, dict) else container)]
        del container
        found.update(map(id, items))
        for at in range(len(items)):
            # One that others have too gives what it holds to them as well.
            if type(items[at]) not in (list, tuple, dict):
                continue
            if sys.getrefcount(items[at]) == alone:
                inside.append(items[at])
    return found


def _alone() -> int:
    """The references to what one container holds, and a list of its items."""
    container = [[None]]
    items = [*container]
    return sys.getrefcount(items[0])
