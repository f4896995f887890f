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


class FakeClock:
    """Time that passes only when told to."""

    def __init__(self) -> None:
        self.time = 0.0
        self.cpu_time = 0.0

    def now(self) -> float:
        return self.time

    def cpu(self) -> float:
        return self.cpu_time

    def sleep(self, seconds: float) -> None:
        self.time += seconds

    def work(self, seconds: float) -> None:
        """Let time pass on a busy core."""
        self.time += seconds
        self.cpu_time += seconds
