"""Times a small thing that can be called again and again, alone or against
another, interleaved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from feedline.job.loops.loop import Clock
from feedline.measure.experiment import estimate, tight
from feedline.measure.measurement import Estimate

Name = TypeVar("Name", bound=str)
_ROUND_SECONDS = 0.1


def compare(
    calls: Mapping[Name, Callable[[], object]],
    clock: Clock,
    *,
    seconds: float,
    least: int = 5,
) -> dict[Name, Estimate]:
    """Milliseconds per call of each, in turns until all are tight or time is up.
    Each is called twice before it is timed."""
    counts: dict[Name, int] = {}
    rounds: dict[Name, list[float]] = {name: [] for name in calls}
    for name, call in calls.items():
        call()
        begin = clock.now()
        call()
        each = max(clock.now() - begin, 1e-6)
        counts[name] = max(1, min(200, round(_ROUND_SECONDS / each)))
    until = clock.now() + seconds
    while True:
        for name, call in calls.items():
            begin = clock.now()
            for _ in range(counts[name]):
                call()
            rounds[name].append(1e3 * (clock.now() - begin) / counts[name])
        if all(tight(times, least=least) for times in rounds.values()):
            break
        if clock.now() > until and all(len(times) >= 2 for times in rounds.values()):
            break
    return {name: estimate(times) for name, times in rounds.items()}
