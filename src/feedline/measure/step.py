"""Takes one training step apart by experiment: observed, host-fed, ceiling,
overhead. Knows nothing of TensorFlow: it asks a loop for steps (`Run`) and is
told how long they took (`Ran`), so a fake loop with planted shares tests it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from feedline.job.loops.loop import (
    CannotRun,
    Clock,
    Experiment,
    Feed,
    LoopEnded,
    Ran,
    Run,
)
from feedline.measure.experiment import difference, estimate, tight
from feedline.measure.measurement import Estimate, StepTimes

_ROUND_SECONDS = 0.4
_SHORTEST_ROUND = 0.05
_ROUNDS = 12
_MOST_ROUNDS = 15
_LEAST_ROUNDS = 5
_LONGEST = 2.5  # of a round: then fewer steps do


@dataclass
class _Rounds:
    """What was measured so far, one entry per round."""

    observed: list[float] = field(default_factory=list)
    host: list[float] = field(default_factory=list)
    device: list[float] = field(default_factory=list)
    alone: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    tracing: list[float] = field(default_factory=list)
    steps: int = 0


def measure_step(
    clock: Clock,
    *,
    seconds: float,
    accelerated: bool,
    batch_size: int | None,
    host_work: float = 0.0,
    steps_per_epoch: int | None = None,
) -> Experiment[StepTimes]:
    """Needs the loop to be warm. `host_work` is the Python between the steps, in
    ms, which the loop's own requests do not run (Keras' callbacks). A short time has
    short rounds."""
    until = clock.now() + seconds
    rounds = _Rounds()
    try:
        turn = max(_SHORTEST_ROUND, min(_ROUND_SECONDS, seconds / _ROUNDS))
        yield from _interleave(clock, rounds, until, accelerated, turn)
    except LoopEnded:
        if not rounds.observed or not rounds.host:
            raise
    times = _step_times(rounds, batch_size, host_work)
    if steps_per_epoch is None:
        return times
    start = yield from _epoch_start(times)
    return times if start is None else times.started(start, steps_per_epoch)


def _interleave(
    clock: Clock, rounds: _Rounds, until: float, accelerated: bool, turn: float
) -> Experiment[None]:
    most = _LONGEST * turn
    live = yield Run("live", 4, seconds=most)
    fed = yield Run("host", 4, seconds=most)
    n_live = _steps_for(live, turn)
    n_fed = _steps_for(fed, turn)
    pull = yield Run("pull", 2, seconds=most)
    n_pull = _steps_for(pull, turn)
    device = accelerated
    while True:
        index = len(rounds.observed)
        for feed in ("live", "host") if index % 2 == 0 else ("host", "live"):
            if feed == "live":
                ran = yield Run("live", n_live, seconds=most)
                rounds.observed.append(ran.ms)
                rounds.tracing.append(ran.tracing_ms)
                rounds.steps += ran.steps
            else:
                ran = yield Run("host", n_fed, seconds=most)
                rounds.host.append(ran.ms)
                rounds.cpu.append(1e3 * ran.cpu_seconds / ran.steps)
        if device:
            try:
                ran = yield Run("device", n_fed, seconds=most)
                rounds.device.append(ran.ms)
            except CannotRun:
                device = False
        if index % 2 == 0:
            ran = yield Run("pull", n_pull, seconds=most)
            rounds.alone.append(ran.ms)
        if _enough(rounds) or len(rounds.observed) >= _MOST_ROUNDS:
            return
        took = clock.now()
        if took > until and len(rounds.observed) >= 2:
            return


def _steps_for(ran: Ran, seconds: float = _ROUND_SECONDS) -> int:
    each = max(ran.seconds / max(1, ran.steps), 1e-5)
    return max(2, min(1000, round(seconds / each)))


def _enough(rounds: _Rounds) -> bool:
    return tight(rounds.observed, least=_LEAST_ROUNDS) and tight(
        rounds.host, least=_LEAST_ROUNDS
    )


def _step_times(rounds: _Rounds, batch_size: int | None, host_work: float) -> StepTimes:
    """The medians, kept consistent: what is no measurable difference is none."""
    pairs = min(len(rounds.observed), len(rounds.host))
    tracing = sum(rounds.tracing) / max(1, len(rounds.tracing))
    fixed = host_work + tracing
    observed = _shift(estimate(rounds.observed), fixed)
    wait = difference(rounds.observed[:pairs], rounds.host[:pairs])
    host = _shift(estimate(rounds.host), fixed)
    if not wait.differs or wait.value <= 0:
        host = observed
    ceiling = host
    if rounds.device:
        both = min(len(rounds.host), len(rounds.device))
        copy = difference(rounds.host[:both], rounds.device[:both])
        if copy.differs and copy.value > 0:
            ceiling = _shift(host, -copy.value)
    return StepTimes(
        observed=observed,
        host_fed=host,
        ceiling=ceiling,
        batch_size=batch_size,
        steps=rounds.steps,
        input_alone=estimate(rounds.alone) if rounds.alone else None,
        host_work=host_work,
        tracing=tracing,
        cpu=estimate(rounds.cpu).value if rounds.cpu else None,
    )


def _shift(value: Estimate, by: float) -> Estimate:
    return Estimate(value.value + by, value.low + by, value.high + by, value.rounds)


def _epoch_start(times: StepTimes) -> Experiment[float | None]:
    """Seconds that an epoch takes to start, or None where that is not known."""
    starts: list[float] = []
    try:
        for _ in range(3):
            ran = yield Run("epoch")
            starts.append(ran.seconds)
            if ran.seconds > 1.0:
                break
    except (CannotRun, LoopEnded):
        return None
    steady = (times.input_alone.value if times.input_alone else 0.0) / 1e3
    return max(0.0, estimate(starts).value - steady)


def measure_curve(
    sizes: Sequence[int], *, clock: Clock, seconds: float, feed: Feed = "host"
) -> Experiment[tuple[tuple[int, float], ...]]:
    """(batch size, ms) at several batch sizes, interleaved."""
    until = clock.now() + seconds
    found: dict[int, list[float]] = {size: [] for size in sizes}
    steps: dict[int, int] = {}
    try:
        for size in sizes:
            ran = yield Run(feed, 3, batch=size)
            steps[size] = max(2, min(100, _steps_for(ran) // 2))
        for turn in range(5):
            for size in sizes:
                ran = yield Run(feed, steps[size], batch=size)
                found[size].append(ran.ms)
            if turn >= 1 and clock.now() > until:
                break
    except (CannotRun, LoopEnded):
        pass
    return tuple((size, estimate(ms).value) for size, ms in found.items() if ms)


def intercept(curve: Sequence[tuple[int, float]]) -> float | None:
    """What a step costs however few examples it has: where the line through
    (batch size, ms) meets zero. None with fewer than two sizes."""
    if len(curve) < 2:
        return None
    n = len(curve)
    mean_x = sum(size for size, _ in curve) / n
    mean_y = sum(ms for _, ms in curve) / n
    spread = sum((size - mean_x) ** 2 for size, _ in curve)
    if spread == 0:
        return None
    slope = sum((size - mean_x) * (ms - mean_y) for size, ms in curve) / spread
    smallest = min(ms for _, ms in curve)
    return max(0.0, min(mean_y - max(slope, 0.0) * mean_x, smallest))
