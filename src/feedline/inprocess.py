"""`feedline.why(model, dataset)`: the examination inside the user's own process.

Nothing is watched here: the loop is made from a compiled Keras model and a
dataset that the caller hands over.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import tensorflow as tf

from feedline import __version__, causes
from feedline.errors import FeedlineError
from feedline.job.job import Job
from feedline.job.loop import InputFailed, LoopEnded, drive
from feedline.job.loops import CallLoop
from feedline.job.read import read
from feedline.job.rebuild import rebuild
from feedline.job.snapshot import restored, same_draws
from feedline.job.source import here, where_of
from feedline.job.watch import Update, Watch
from feedline.measure.clock import SystemClock
from feedline.measure.examine import Examiner
from feedline.measure.measurement import Measurement, RunTimes
from feedline.report.build import make
from feedline.report.report import Report


def examine_model(model: Any, dataset: Any, seconds: float) -> Report:
    _check(model, dataset)
    clock = SystemClock()
    began = clock.now()
    loop = CallLoop("fit", where_of(here(2)), clock, model.fit)
    loop.model = model
    strategy = model.distribute_strategy
    if type(strategy).__name__ != "_DefaultDistributionStrategy":
        loop.strategy = strategy
    loop.steps_per_call = int(model.steps_per_execution)
    loop.eager = bool(model.run_eagerly)
    with same_draws():
        _build(model, dataset)
        with restored(model), _own_function(model):
            job, measured = _examine(loop, dataset, clock, seconds)
    measured = replace(measured, run=RunTimes(trace_s=loop.first_step_seconds))
    findings = causes.diagnose(job, measured)
    return make(
        job,
        measured,
        findings,
        {name: cause.title for name, cause in causes.all().items()},
        script="",
        version=__version__,
        seconds=clock.now() - began,
    )


def _examine(
    loop: CallLoop, dataset: Any, clock: SystemClock, seconds: float
) -> tuple[Job, Measurement]:
    model = loop.model
    pipeline = read(dataset)
    copy = rebuild(pipeline, fresh=True) if pipeline.rereadable else dataset
    distributed = model.distribute_strategy.experimental_distribute_dataset(copy)
    iterator = iter(distributed)
    loop.reads(distributed, iterator)
    loop.source = dataset
    loop.steps_per_epoch = pipeline.cardinality if pipeline.cardinality > 0 else None
    loop.keep_to_its_passes()
    loop.call = model.train_function
    watch = Watch(clock, lambda _: None)
    watch.updates[0] = _update(model)
    for layer in _embeddings(model):
        watch.tables[layer] = None
    first = clock.now()
    try:
        loop.call(iterator)
        loop.first_step_seconds = clock.now() - first
        examiner = Examiner(loop, watch, clock, seconds)
        return drive(examiner.examine(), loop.execute)
    except InputFailed as failure:
        raise failure.error from None
    except (LoopEnded, StopIteration, tf.errors.OutOfRangeError):
        raise FeedlineError(
            "the dataset came to its end before it could be measured. Give feedline.why"
            " a longer one, or one that it may read again (not from_generator)"
        ) from None


def _check(model: Any, dataset: Any) -> None:
    if not isinstance(dataset, tf.data.Dataset):
        raise FeedlineError(
            f"feedline.why needs a tf.data.Dataset, not {type(dataset).__name__}. For "
            "arrays: tf.data.Dataset.from_tensor_slices((x, y)).batch(32)"
        )
    if not getattr(model, "compiled", False):
        raise FeedlineError(
            "feedline.why needs a compiled Keras model: call "
            "model.compile(optimizer=..., loss=...) first"
        )


def _build(model: Any, dataset: Any) -> None:
    """Variables must exist before they can be kept."""
    if not model.built:
        batch = tf.nest.map_structure(
            lambda spec: tf.zeros([n or 1 for n in spec.shape], spec.dtype),
            dataset.element_spec,
        )
        inputs = batch[0] if isinstance(batch, tuple) else batch
        model(inputs)
    if not model.optimizer.built:
        model.optimizer.build(model.trainable_variables)


def _update(model: Any) -> Update:
    """Tables of `Embedding` layers get gradients that name rows."""
    variables = list(model.trainable_variables)
    tables = {id(layer.embeddings) for layer in _embeddings(model)}
    sparse = {
        position: None
        for position, variable in enumerate(variables)
        if id(variable) in tables
    }
    return Update(model.optimizer, variables, sparse)


def _embeddings(model: Any) -> list[Any]:
    return [
        layer
        for layer in model._flatten_layers()
        if type(layer).__name__ == "Embedding" and layer.built
    ]


@contextmanager
def _own_function(model: Any) -> Iterator[None]:
    """A train function of our own, so that the model's stays as it is."""
    before = model.train_function
    model.make_train_function(force=True)
    try:
        yield
    finally:
        model.train_function = before
