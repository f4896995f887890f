"""From a live loop to `Job`: the facts about it, written down as plain data."""

from __future__ import annotations

import logging
from typing import Any

from feedline.job.job import Job, Layer, Retrace
from feedline.job.loops.base import Loop
from feedline.job.loops.python import PythonLoop
from feedline.job.loops.retraces import reason
from feedline.job.private import keras as keras_private
from feedline.job.private import tensorflow as tf_private
from feedline.job.script.functions import user_function
from feedline.job.script.watch import Watch
from feedline.job.source.lines import is_library, line_of
from feedline.job.tfdata.pipeline import Pipeline, Where
from feedline.job.tfdata.plain import without_handles

log = logging.getLogger(__name__)


def job_of(loop: Loop, watch: Watch, *, batch_size: int | None) -> Job:
    model = loop.model
    optimizer = getattr(model, "optimizer", None)
    kind = None if optimizer is None else type(optimizer).__name__
    strategy = loop.strategy
    function = loop.step_function
    return Job(
        kind=loop.kind,  # type: ignore[arg-type]
        where=loop.where,
        pipeline=pipeline_of(loop),
        layers=layers_of(model),
        optimizer=kind or next((each.kind for each in watch.updates[-1:]), None),
        loss=_loss(model),
        batch_size=batch_size,
        epochs=loop.epochs,
        steps_per_epoch=steps_per_epoch_of(loop),
        restarts=loop.restarts,
        steps_per_execution=loop.steps_per_call,
        eager=loop.eager,
        bare=isinstance(loop, PythonLoop) and loop.bare() is not None,
        jit_compile=bool(
            getattr(model, "jit_compile", False)
            or tf_private.jit_compile.get(function, False)
        ),
        strategy=type(strategy).__name__ if strategy is not None else None,
        replicas=int(strategy.num_replicas_in_sync) if strategy is not None else 1,
        callbacks=loop.callbacks,
        syncs_per_step=loop.syncs / max(1, loop.steps),
        retraces=retraces_of(loop),
        step_where=step_where(loop),
    )


def pipeline_of(loop: Loop) -> Pipeline | None:
    """None where it cannot be read; the verdict then goes without stages."""
    import tensorflow as tf

    if loop.source is None:
        found: Pipeline | None = loop.read_as
        return found
    if not isinstance(loop.source, tf.data.Dataset):
        return None
    try:
        from feedline.job.tfdata.read import read

        return read(loop.source)
    except Exception:  # TensorFlow changes; the times are still true
        log.warning("the input pipeline cannot be read", exc_info=True)
        return None


def write_down(loop: Loop) -> None:
    """Keep what it reads as plain data: the script may drop it."""
    pipeline = pipeline_of(loop)
    loop.read_as = None if pipeline is None else without_handles(pipeline)


def layers_of(model: Any) -> tuple[Layer, ...]:
    if model is None or not keras_private.flatten_layers.on(model):
        return ()
    return tuple(
        Layer(
            name=layer.name,
            kind=type(layer).__name__,
            weights=tuple(tuple(int(n) for n in w.shape) for w in layer.weights),
            compute_dtype=str(getattr(layer, "compute_dtype", "float32")),
            activation=getattr(getattr(layer, "activation", None), "__name__", None),
        )
        for layer in keras_private.flatten_layers(model)(include_self=False)
        if layer.weights and not keras_private.layers.get(layer)
    )


def _loss(model: Any) -> str | None:
    loss = getattr(model, "loss", None)
    if loss is None or isinstance(loss, str):
        return loss
    return getattr(loss, "__name__", type(loss).__name__)


def steps_per_epoch_of(loop: Loop) -> int | None:
    """As it was seen, or else as the dataset says."""
    return loop.steps_per_epoch or _cardinality(loop.source)


def _cardinality(dataset: Any) -> int | None:
    try:
        number = int(dataset.cardinality())
    except Exception:
        return None
    return number if number > 0 else None


def retraces_of(loop: Loop) -> tuple[Retrace, ...]:
    if not loop.warm_traces:
        return ()
    function = loop.step_function
    name = getattr(user_function(function)[0], "__name__", "the step")
    where = _function_where(function)
    return (Retrace(name, where, loop.warm_traces, reason(function)),)


def step_where(loop: Loop) -> Where | None:
    """The line of the user's function that is the step."""
    if loop.step_function is None and loop.step_code is not None:
        return line_of(loop.step_code.co_filename, loop.step_code.co_firstlineno)
    return _function_where(loop.step_function)


def _function_where(function: Any) -> Where | None:
    """The user's function; Keras' own are nobody's line."""
    code = getattr(user_function(function)[0], "__code__", None)
    if code is None or is_library(code.co_filename):
        return None
    return line_of(code.co_filename, code.co_firstlineno)
