"""How long a step would take, from what its parts cost.

A pipeline is a chain of segments. Inside a segment stages take turns; between
segments stands something that works ahead (a prefetch, a parallel map). The
last segment takes turns with the training step itself. The step can then be no
shorter than its slowest segment, nor than all the CPU time divided by the
cores. This is a model, for ranking and for planning; what is true is measured.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from feedline.measure.measurement import Measurement, StageCost


@dataclass(frozen=True)
class Limit:
    """One thing that a step cannot be shorter than: some stages (by their place)
    that take turns, the cores, or the step alone. The stages of the last segment
    take turns with the step."""

    ms: float
    kind: Literal["stages", "cores", "step"]
    stages: tuple[int, ...] = ()


def limits(
    stages: Iterable[StageCost], *, ceiling_ms: float, step_cpu_ms: float, cores: int
) -> list[Limit]:
    """All that bounds a step of this pipeline in front of this step."""
    found: list[Limit] = []
    segment, cpu = 0.0, step_cpu_ms
    members: list[int] = []
    for place, stage in enumerate(stages):
        cpu += stage.ms_per_batch * stage.busy
        if stage.asynchronous:
            threads = max(1, min(stage.parallelism, cores))
            found.append(Limit(segment, "stages", tuple(members)))
            found.append(Limit(stage.ms_per_batch / threads, "stages", (place,)))
            segment, members = 0.0, []
        else:
            segment += stage.ms_per_batch
            members.append(place)
    found.append(Limit(ceiling_ms, "step"))
    found.append(Limit(segment + ceiling_ms, "stages", tuple(members)))
    found.append(Limit(cpu / max(1, cores), "cores"))
    return found


def predict_step(
    stages: Iterable[StageCost], *, ceiling_ms: float, step_cpu_ms: float, cores: int
) -> float:
    """Milliseconds per step of this pipeline in front of this step."""
    bounds = limits(stages, ceiling_ms=ceiling_ms, step_cpu_ms=step_cpu_ms, cores=cores)
    return max(bound.ms for bound in bounds)


def saving(measurement: Measurement, changed: Iterable[StageCost]) -> float:
    """What changing the stages so would take off a step, in ms, at least 0.

    The difference of two predictions, scaled to what was really observed, so
    that the model's own error cancels, and never more than the measured wait.
    """
    step = measurement.step
    cpu = step.cpu if step.cpu is not None else 0.0
    cores = measurement.machine.cores
    ceiling = step.ceiling.value
    before = predict_step(
        measurement.stages, ceiling_ms=ceiling, step_cpu_ms=cpu, cores=cores
    )
    after = predict_step(changed, ceiling_ms=ceiling, step_cpu_ms=cpu, cores=cores)
    wait = step.input_wait - step.epoch_start
    excess = max(before - ceiling, 1e-9)
    return max(0.0, min(1.0, (before - after) / excess)) * max(0.0, wait)
