"""A clock whose time a test turns by hand."""

from __future__ import annotations


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
