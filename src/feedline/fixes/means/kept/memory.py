"""Where results are kept: within a bound, and never thrown out for others.

Data is read in rounds. Whoever throws out the oldest to make room for the newest has
never kept what comes next; so what is kept stays, and once the bound is reached the
rest is computed as before.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Any

from feedline.measure.machine import memory

_SHARE = 4  # of what is free when the first result is kept


class Memory:
    """`found` and `made` count results that were kept and that were computed; `saved_s`
    is what computing took for those that were found."""

    def __init__(self, most: int | None = None) -> None:
        self.most = most
        self.used = 0
        self.found = 0
        self.made = 0
        self.saved_s = 0.0
        self._kept: dict[Hashable, Any] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Any | None:
        return self._kept.get(key)

    def put(self, key: Hashable, value: Any, size: int) -> bool:
        with self._lock:
            if self.most is None:
                self.most = int(memory()[1] / _SHARE)
            if self.used + size > self.most:
                return False
            self._kept[key] = value
            self.used += size
            return True

    def drop(self, key: Hashable, size: int) -> None:
        with self._lock:
            if self._kept.pop(key, None) is not None:
                self.used -= size

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self.used = 0
