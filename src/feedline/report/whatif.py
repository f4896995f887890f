"""What if there were more cores, a faster device, more epochs? The model and its
arithmetic; the HTML page has the same in JavaScript, and a test compares the two.

The step alone (its batches ready on the device) is overhead + compute / speed, and
its CPU time shrinks with it. A batch's transfer stays. The pipeline is a chain of
segments, as in `measure.predict`: stages take turns until one works ahead in threads
of its own. A step is then no shorter than

- the step alone and its transfer, with the stages that take turns with it,
- each segment, a stage that works ahead divided by its threads,
- all CPU time of stages and step, divided by the cores.

The largest of these is the step. In the first epoch a stage behind a new cache costs
`first_ms`. Nothing here is measured: `fitted.py` makes the model from a report so that
it repeats the measurement at the sliders' first place; elsewhere it is an expectation.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from feedline.measure.measurement import StageCost
from feedline.measure.predict import Limit, limits

MARGIN = 1.05
"""A device counts as fed when its step is this near to the step alone."""

ALL_CORES = 0


@dataclass(frozen=True)
class Part:
    """A stage: its cost per step, later and in the first epoch, the part of it that
    keeps a core busy, and its threads (`ALL_CORES`: as many as there are)."""

    label: str
    ms: float
    first_ms: float
    busy: float
    threads: int
    ahead: bool
    python: bool = False


@dataclass(frozen=True)
class Scenario:
    """One pipeline in front of one step. `scale` is what its stages' costs were
    multiplied by to give the measured step, `rest` the factor that this leaves."""

    name: str
    title: str
    parts: tuple[Part, ...]
    compute_ms: float
    overhead_ms: float
    transfer_ms: float
    cpu_ms: float
    start_ms: float
    scale: float
    rest: float


@dataclass(frozen=True)
class Model:
    """`begin_s` is what comes before the first step. The last scenario spreads the
    input over all cores."""

    cores: int
    epochs: int
    steps_per_epoch: int | None
    begin_s: float
    margin: float
    choices: dict[str, tuple[float, ...]]
    scenarios: tuple[Scenario, ...]

    @property
    def epochs_matter(self) -> bool:
        """Is anything known that depends on their number?"""
        parts = (part for scenario in self.scenarios for part in scenario.parts)
        return self.steps_per_epoch is not None or any(
            part.first_ms != part.ms for part in parts
        )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Expected:
    """A step, later and in the first epoch, the mean of all, the step alone with
    its transfer, what limits a later step, and the whole run."""

    step_ms: float
    first_ms: float
    mean_ms: float
    alone_ms: float
    limit: str
    stages: tuple[int, ...]
    total_s: float | None


@dataclass(frozen=True)
class Need:
    """Cores that keep the device fed, and how many more machines like this one that
    is; None where a stage that cannot be spread is in the way."""

    cores: int | None
    workers: int | None
    blocked_by: int | None = None


def expect(
    model: Model, scenario: Scenario, cores: int, speed: float, epochs: int
) -> Expected:
    alone = scenario.overhead_ms + scenario.compute_ms / speed
    now = scenario.overhead_ms + scenario.compute_ms
    cpu = scenario.cpu_ms * alone / now if now > 0 else 0.0
    fed = alone + scenario.transfer_ms
    later = slowest(scenario.parts, fed, cpu, cores, first=False)
    first = slowest(scenario.parts, fed, cpu, cores, first=True)
    step_ms = scenario.rest * later.ms + scenario.start_ms
    first_ms = scenario.rest * first.ms + scenario.start_ms
    mean_ms = (first_ms + (epochs - 1) * step_ms) / epochs
    steps = model.steps_per_epoch
    return Expected(
        step_ms=step_ms,
        first_ms=first_ms,
        mean_ms=mean_ms,
        alone_ms=scenario.rest * fed,
        limit=later.kind,
        stages=later.stages,
        total_s=None
        if steps is None
        else model.begin_s + epochs * steps * mean_ms / 1e3,
    )


def need(model: Model, speed: float) -> Need:
    """What keeps a device of this speed fed, the input spread as well as can be."""
    scenario = model.scenarios[-1]
    alone = scenario.overhead_ms + scenario.compute_ms / speed
    now = scenario.overhead_ms + scenario.compute_ms
    work = scenario.cpu_ms * alone / now if now > 0 else 0.0
    target = MARGIN * (alone + scenario.transfer_ms)
    cores = 1
    for place, part in enumerate(scenario.parts):
        work += part.ms * part.busy
        if part.threads == ALL_CORES:
            cores = max(cores, math.ceil(part.ms / target))
        elif part.ms / part.threads > target:
            return Need(None, None, place)
    cores = max(cores, math.ceil(work / target))
    return Need(cores, max(0, math.ceil((cores - model.cores) / model.cores)))


def slowest(
    parts: tuple[Part, ...], fed: float, cpu: float, cores: int, *, first: bool
) -> Limit:
    costs = [
        StageCost(
            index=place,
            name=part.label,
            ms_per_batch=part.first_ms if first else part.ms,
            busy=part.busy,
            parallelism=cores if part.threads == ALL_CORES else part.threads,
            asynchronous=part.ahead,
        )
        for place, part in enumerate(parts)
    ]
    bounds = limits(costs, ceiling_ms=fed, step_cpu_ms=cpu, cores=cores)
    return max(bounds, key=lambda bound: bound.ms)  # of equals the first
