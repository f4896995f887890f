"""A pipeline that can be sent and saved: `PlainPipeline`, and a `Pipeline` from it.

A `Pipeline` is a graph of stages that hold live objects of TensorFlow. Here it is a
list: a stage names its inputs by their places, so that a stage that two others read
stays one stage, and a chain of thousands is no deep nesting. Handles stay behind, and
so do arguments that are not plain values. What causes and reports look at is kept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from feedline.job.tfdata.pipeline import Function, Pipeline, Stage, TensorSpec, Where

_MOST_ITEMS = 10_000
_DEEPEST = 8


@dataclass(frozen=True)
class PlainStage:
    """A `Stage`; `inputs` are places in `PlainPipeline.stages`."""

    op: str
    inputs: tuple[int, ...] = ()
    args: Mapping[str, Any] = field(default_factory=dict)
    functions: tuple[Function, ...] = ()
    spec: tuple[TensorSpec, ...] = ()
    where: Where | None = None
    random: bool = False
    rereadable: bool = True
    inner: PlainPipeline | None = None
    number: int = -1


@dataclass(frozen=True)
class PlainPipeline:
    """Its stages, inputs first, so that the last one is the pipeline's end."""

    stages: tuple[PlainStage, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    cardinality: int = -2


def flatten(pipeline: Pipeline) -> PlainPipeline:
    stages = list(pipeline.stages())
    places = {id(stage): place for place, stage in enumerate(stages)}
    return PlainPipeline(
        tuple(
            PlainStage(
                stage.op,
                tuple(places[id(upstream)] for upstream in stage.inputs),
                _plain_values(stage.args),
                stage.functions,
                stage.spec,
                stage.where,
                stage.random,
                stage.rereadable,
                None if stage.inner is None else flatten(Pipeline(stage.inner)),
                stage.number,
            )
            for stage in stages
        ),
        _plain_values(pipeline.options),
        pipeline.cardinality,
    )


def restore(plain: PlainPipeline) -> Pipeline:
    """The pipeline without its handles. Raises ValueError where `plain`, which may
    come from a file, is not one."""
    made: list[Stage] = []
    for place, stage in enumerate(plain.stages):
        if not all(0 <= upstream < place for upstream in stage.inputs):
            raise ValueError(f"stage {place} reads one that does not stand before it")
        made.append(
            Stage(
                stage.op,
                tuple(made[upstream] for upstream in stage.inputs),
                {name: _frozen(value) for name, value in stage.args.items()},
                stage.functions,
                stage.spec,
                stage.where,
                stage.random,
                stage.rereadable,
                None if stage.inner is None else restore(stage.inner).root,
                stage.number,
            )
        )
    if not made:
        raise ValueError("a pipeline has at least one stage")
    options = {name: _frozen(value) for name, value in plain.options.items()}
    return Pipeline(made[-1], options, plain.cardinality)


def without_handles(pipeline: Pipeline) -> Pipeline:
    """The same, holding nothing of the script's."""
    return restore(flatten(pipeline))


def _plain_values(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _listed(value) for name, value in values.items() if _is_plain(value)}


def _is_plain(value: Any, depth: int = 0) -> bool:
    if value is None or type(value) in (bool, int, str):
        return True
    if type(value) is float:
        return math.isfinite(value)
    if depth > _DEEPEST or not isinstance(value, Sequence | Mapping):
        return False
    if isinstance(value, bytes | str) or len(value) > _MOST_ITEMS:
        return False
    if isinstance(value, Mapping):
        if not all(type(name) is str for name in value):
            return False
        value = list(value.values())
    return all(_is_plain(each, depth + 1) for each in value)


def _listed(value: Any) -> Any:
    """As JSON has it, so that what is read is what was written."""
    if isinstance(value, list | tuple):
        return [_listed(each) for each in value]
    if isinstance(value, Mapping):
        return {name: _listed(each) for name, each in value.items()}
    return value


def _frozen(value: Any) -> Any:
    """Lists of JSON are the tuples that they were."""
    if isinstance(value, list | tuple):
        return tuple(_frozen(each) for each in value)
    if isinstance(value, dict):
        return {name: _frozen(each) for name, each in value.items()}
    return value
