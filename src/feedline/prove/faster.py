"""Is it faster? Two variants of one live loop, in turns, with an interval.

The ratio is taken turn by turn, so that what disturbs the machine disturbs both.
Faster means that the whole interval says so.
"""

from __future__ import annotations

import statistics

from feedline.job.loops.base import Loop, Variant
from feedline.job.loops.loop import Clock, Experiment, Ran, Run
from feedline.measure.experiment import estimate
from feedline.measure.measurement import Estimate
from feedline.prove.proof import Faster

TURN_S = 0.4
_LEAST_ROUNDS = 4
_MOST_ROUNDS = 12
_ENOUGH = 0.03


def compare(
    loop: Loop,
    before: Variant | None,
    after: Variant | None,
    clock: Clock,
    *,
    seconds: float,
    turn: float = TURN_S,
) -> Experiment[Faster]:
    """Both in turns of that length until the ratio is known well enough or the time
    is up."""
    until = clock.now() + seconds
    counts: dict[bool, int] = {}
    for changed in (False, True):
        loop.use(after if changed else before)
        pilot = yield Run("live", 2, seconds=turn)
        counts[changed] = _steps_for(pilot, turn)
    times: dict[bool, list[float]] = {False: [], True: []}
    while True:
        even = len(times[False]) % 2 == 0
        for changed in (False, True) if even else (True, False):
            loop.use(after if changed else before)
            ran = yield Run("live", counts[changed], seconds=2 * turn)
            times[changed].append(ran.ms + _start_ms(loop))
        gains = [a / max(b, 1e-9) for a, b in zip(*times.values(), strict=True)]
        gain = estimate(gains)
        enough = len(gains) >= _LEAST_ROUNDS and decided(gain)
        late = clock.now() > until and len(gains) >= _LEAST_ROUNDS - 1
        if enough or late or len(gains) >= _MOST_ROUNDS:
            loop.use(None)
            return Faster(estimate(times[False]), estimate(times[True]), gain)


def _start_ms(loop: Loop) -> float:
    """What starting an epoch costs, shared out over its steps: requests leave it
    out, and a fix may be all about it."""
    starts = loop.live.starts[-5:] if loop.live is not None else []
    if not starts or not loop.restarts or not loop.steps_per_epoch:
        return 0.0
    return 1e3 * statistics.median(starts) / loop.steps_per_epoch


def decided(gain: Estimate) -> bool:
    """Narrow, or so far from 1 that more turns would not change the answer."""
    half = (gain.high - gain.low) / 2
    return half <= _ENOUGH * gain.value or abs(gain.value - 1) > 4 * half


def _steps_for(ran: Ran, turn: float) -> int:
    each = max(ran.seconds / max(1, ran.steps), 1e-5)
    return max(2, min(2000, round(turn / each)))
