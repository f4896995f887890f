"""A map that leaves the pipeline and becomes part of the training step.

Shared by `cast-on-device` and `augment-on-device`; not a fix itself. The map's
function, run over a whole batch, is called at the beginning of `train_step`, so
that what crosses the bus is what the map was given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from feedline.fixes import conditions
from feedline.fixes.fix import CannotFix, Edit
from feedline.fixes.patching import label
from feedline.fixes.place import Place
from feedline.fixes.target import Target, Undo
from feedline.job.private import tensorflow as tf_private
from feedline.job.tfdata import ops
from feedline.job.tfdata.ops import Fact
from feedline.job.tfdata.pipeline import Pipeline, Stage


def last_map(pipeline: Pipeline) -> Stage | None:
    """The last map, where nothing after it looks into what it made."""
    for stage in pipeline.find(ops.MAP)[-1:]:
        after = pipeline.after(stage)
        if all(map(_looks_at_none, after)) and stage.number >= 0:
            return stage
    return None


def _looks_at_none(stage: Stage) -> bool:
    return stage.has(Fact.BEFORE_STEP) or stage.op == ops.BATCH


def check(pipeline: Pipeline, edit: Edit) -> Stage:
    """The last map, which may run where the step runs."""
    stage = conditions.stage_of(pipeline, edit, ops.MAP)
    if stage is not last_map(pipeline):
        raise CannotFix(f"a later stage looks at what {stage.label()} makes")
    if stage.python or not stage.functions:
        raise CannotFix(f"{stage.label()} runs Python, which a device cannot")
    conditions.alone(stage)
    return stage


def apply(pipeline: Pipeline, edit: Edit) -> Pipeline:
    """Without the map; with `host` among the arguments it stays in the pipeline,
    behind the batch: so its results can be compared."""
    stage = check(pipeline, edit)
    if not _before_batch(pipeline, stage):
        return pipeline if edit.args.get("host") else _without(pipeline, stage)
    from feedline.fixes.means.rewrite.vectorize import vectorize_pipeline

    moved = vectorize_pipeline(pipeline, stage)
    if edit.args.get("host"):
        return moved
    maps = [each for each in moved.find(ops.MAP) if "func" in each.args]
    return _without(moved, maps[-1])


def install(target: Target, edit: Edit) -> Undo:
    if target.pipeline is None:
        raise CannotFix("the pipeline of this step is not known")
    target.alone()
    function = _function(target.pipeline, check(target.pipeline, edit))
    model = target.model
    original = model.train_step

    def train_step(data: Any) -> Any:
        parts = data if isinstance(data, tuple) else (data,)
        return original(function(*parts))

    model.train_step = train_step

    def undo() -> None:
        del model.train_step

    return undo


def comment(place: Place, _: str) -> str:
    return (
        f"take {label(place)} out of the dataset and do the same, on whole batches, "
        "at the start of the model: as its first layer or in train_step"
    )


def _before_batch(pipeline: Pipeline, stage: Stage) -> bool:
    return any(later.op == ops.BATCH for later in pipeline.after(stage))


def _without(pipeline: Pipeline, stage: Stage) -> Pipeline:
    return pipeline.swap(stage, stage.inputs[0])


def _function(pipeline: Pipeline, stage: Stage) -> Callable[..., Any]:
    """The map's function over a batch."""
    if _before_batch(pipeline, stage):
        from feedline.fixes.means.rewrite.vectorize import vectorized

        return vectorized(stage)
    from feedline.job.private.tensorflow import structure

    traced = stage.handle.traced[0]

    def whole(*parts: Any) -> Any:
        element = parts if len(parts) > 1 else parts[0]
        flat = structure.to_tensor_list(tf_private.input_structure(traced), element)
        made = traced.function(*flat)
        return structure.from_compatible_tensor_list(traced.output_structure, made)

    return whole
