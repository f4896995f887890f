"""From readings to what is worth a warning. Pure: which cause is likely, and how it
is shown, is decided elsewhere.

    input      the job waits for its input, from the start or since some step
    straggler  few steps do most of the waiting
    slower     steps take longer, and not because of the input
    memory     the process grows, and when the memory will be used up
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from feedline.files.sizes import size
from feedline.measure.measurement import Estimate
from feedline.monitor.drift import Shift, shift, slope
from feedline.monitor.meter import slowest_tenth
from feedline.monitor.reading import Reading, share
from feedline.report.format import ms, percent, seconds

WAITS = 0.2  # this much of the step, and it is input-bound enough to say so
_MORE = 0.1
_SLOWER = 1.2
_UNEVEN = 0.5
_FEWEST_WAITS = 40
_HORIZON_S = 24 * 3600
_GROWN = 64 * 2**20
_SETTLED = 1  # the first reading is left out: buffers fill, TensorFlow tunes


@dataclass(frozen=True)
class Alarm:
    """`since` is the reading from which on it holds; 0 is the first."""

    kind: str
    text: str
    since: int = 0
    drifted: bool = False


def look(
    readings: Sequence[Reading], waits: Sequence[float], free: float | None
) -> Iterator[Alarm]:
    """`free` is the memory in bytes that is left; None where nobody tells."""
    steady = readings[_SETTLED:]
    if not steady:
        return
    for found in (
        _waiting(steady),
        _uneven(steady, waits),
        _slower(steady),
        _growing(steady, free),
    ):
        if found is not None:
            yield found


def _shares(readings: Sequence[Reading]) -> list[Estimate]:
    return [r.input_share for r in readings if r.input_share is not None]


def _waiting(steady: Sequence[Reading]) -> Alarm | None:
    seen = [r for r in steady if r.input_share is not None]
    shares = _shares(seen)
    found = shift([each.value for each in shares])
    if found is not None and found.after >= WAITS and found.difference.low > _MORE:
        now = _percents(found.after, found.difference, found.before)
        return Alarm(
            "input",
            f"{_since(seen, found)} the job waits for its input {now} of the step; "
            f"before, {percent(found.before)}.",
            found.at + _SETTLED,
            drifted=True,
        )
    if len(shares) >= 2 and all(each.low >= WAITS for each in shares[:2]):
        return Alarm(
            "input",
            f"The job waits for its input {share(shares[1])} of the "
            "step, since its first steps.",
        )
    return None


def _percents(value: float, difference: Estimate, before: float) -> str:
    low = max(0.0, before + difference.low)
    high = min(1.0, before + difference.high)
    return f"{percent(value)} ({100 * low:.0f} to {100 * high:.0f})"


def _since(readings: Sequence[Reading], found: Shift) -> str:
    """The change lies between the end of a reading and that of the next."""
    first = readings[found.earliest - 1].step + 1
    last = readings[found.latest].step
    return f"Since epoch {readings[found.at].epoch} (steps {first:,} to {last:,})"


def _uneven(steady: Sequence[Reading], waits: Sequence[float]) -> Alarm | None:
    shares = _shares(steady)
    if len(waits) < _FEWEST_WAITS or not shares or shares[-1].low < _MORE:
        return None
    # In both halves: else it is one change, and no unevenness.
    waits = list(waits)
    half = len(waits) // 2
    part = min(slowest_tenth(waits[:half]), slowest_tenth(waits[half:]))
    if part < _UNEVEN:
        return None
    return Alarm(
        "straggler",
        f"One step in ten does {percent(part)} of the waiting for input, up to "
        f"{ms(1e3 * max(waits))} at a time: something it reads from is slow now and "
        "then (a file, an element, a worker).",
    )


def _slower(steady: Sequence[Reading]) -> Alarm | None:
    """Steps less what they wait: all but the input."""
    seen = [r for r in steady if r.input_share is not None]
    rest = [r.step_ms * (1 - r.input_share.value) for r in seen if r.input_share]
    found = shift(rest)
    if found is None or found.before <= 0:
        return None
    if (found.before + found.difference.low) / found.before < _SLOWER:
        return None
    return Alarm(
        "slower",
        f"{_since(seen, found)} a step takes {ms(found.after)} apart from its input; "
        f"before, {ms(found.before)}. The input is not the reason: something else "
        "uses the processors, the batches have become larger, or functions are traced "
        "again.",
        found.at + _SETTLED,
        drifted=True,
    )


def growth(steady: Sequence[Reading]) -> Estimate | None:
    """Bytes per second. A cache or a buffer that fills in the first epoch is no
    leak: where there is a second, only what comes after the first counts."""
    later = [r for r in steady if r.memory is not None and r.epoch > 1]
    if not later:
        later = [r for r in steady if r.memory is not None]
    later = later[len(later) // 4 :]
    return slope([r.seconds for r in later], [r.memory or 0.0 for r in later])


def _growing(steady: Sequence[Reading], free: float | None) -> Alarm | None:
    found = growth(steady)
    if found is None or found.low <= 0 or free is None:
        return None
    held = [r.memory for r in steady if r.memory is not None]
    left = free / found.value
    if held[-1] - held[0] < _GROWN or left > _HORIZON_S:
        return None
    soonest, latest = free / found.high, free / found.low
    first = " This is the first epoch: it may be a cache that fills."
    return Alarm(
        "memory",
        f"The process grows by {size(60 * found.value)} per minute "
        f"({size(60 * found.low)} to {size(60 * found.high)}) and holds "
        f"{size(held[-1])}; what is free is used up in {seconds(left)} "
        f"({seconds(soonest)} to {seconds(latest)})."
        + (first if steady[-1].epoch <= 1 else ""),
    )
