"""`Finding`: a cause seen in this job: where, the evidence, what it costs."""

from __future__ import annotations

from dataclasses import dataclass

from feedline.job.tfdata.pipeline import Where


@dataclass(frozen=True)
class Finding:
    """`cost_ms` is milliseconds per training step, from an experiment or from
    stage costs. A fault that costs no time (frozen-randomness) has cost 0."""

    cause: str
    cost_ms: float
    evidence: str
    where: Where | None = None
    fixes: tuple[str, ...] = ()
