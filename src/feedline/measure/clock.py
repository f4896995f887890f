"""The only clock. Tests put a fake in its place whose time they turn by hand."""

from __future__ import annotations

import time


class SystemClock:
    """Wall time, CPU time of this process (all threads), and waiting. `last` is
    when somebody looked at it last: every step and every batch does."""

    def __init__(self) -> None:
        self.last = time.perf_counter()

    def now(self) -> float:
        self.last = time.perf_counter()
        return self.last

    def cpu(self) -> float:
        return time.process_time()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
