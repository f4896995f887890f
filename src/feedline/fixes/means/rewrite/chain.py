"""A question about the chain of stages that every move has to ask."""

from __future__ import annotations

from feedline.job.tfdata.pipeline import Pipeline, Stage


def consumers_of(pipeline: Pipeline, stage: Stage) -> int:
    """How many stages read `stage`. A shuffle or a cache that feeds two branches is
    one object to both, and must not become two."""
    return sum(one is stage for other in pipeline.stages() for one in other.inputs)
