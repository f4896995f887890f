"""`feedline.why(model, dataset)`: the examination inside the user's own process.

Nothing is watched here: the loop is made from a compiled Keras model and a
dataset that the caller hands over. `bench` is that loop; `tuning.py` uses it too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import tensorflow as tf

from feedline import __version__
from feedline.errors import CannotPutBack, FeedlineError, one_sentence
from feedline.job.job import Job
from feedline.job.loops.call import CallLoop
from feedline.job.loops.loop import Experiment, InputFailed, LoopEnded, drive
from feedline.job.loops.snapshot import (
    is_same_state,
    keras_state,
    make_global_generator,
    random_states,
    restored,
    same_draws,
    variables_in,
    variables_of,
)
from feedline.job.loops.step_state import (
    check_pipeline,
    check_python,
    draws_by_itself,
    is_untraced,
    touches,
    traced_step,
    variables_of_step,
)
from feedline.job.private import keras as keras_private
from feedline.job.script.updates import Update
from feedline.job.script.watch import Watch
from feedline.job.source.lines import here, where_of
from feedline.job.tfdata.pipeline import Where
from feedline.job.tfdata.read import read
from feedline.job.tfdata.rebuild import rebuild
from feedline.measure.clock import SystemClock
from feedline.measure.examine import Examiner
from feedline.measure.measurement import Measurement, RunTimes
from feedline.report.basis import Basis
from feedline.report.report import Report
from feedline.session.judge import judge


def examine_model(model: Any, dataset: Any, seconds: float) -> Report:
    check(model, dataset, "feedline.why")
    clock = SystemClock()
    began = clock.now()
    with bench(model, dataset, clock, where_of(here(2))) as loop:
        try:
            job, measured = drive(_examination(loop, clock, seconds), loop.execute)
        except (InputFailed, LoopEnded, StopIteration, tf.errors.OutOfRangeError) as e:
            raise ended(e) from None
    measured = replace(measured, run=RunTimes(trace_s=loop.first_step_seconds))
    return judge(
        Basis.of(job, measured, seconds=clock.now() - began, version=__version__)
    )


def _examination(
    loop: CallLoop, clock: SystemClock, seconds: float
) -> Experiment[tuple[Job, Measurement]]:
    examiner = Examiner(loop, watched(loop, clock), clock, seconds)
    job, measured = yield from examiner.examine()
    return job, (yield from examiner.capture(measured))


@contextmanager
def bench(
    model: Any,
    dataset: Any,
    clock: SystemClock,
    where: Where | None,
    *,
    shared: bool = False,
) -> Iterator[CallLoop]:
    """A loop to experiment with, over a copy of the dataset and with a step of our
    own: when it is over, every variable and every source of random numbers is as
    it was. A model that was not built yet is built, as its first step would.

    `shared`: the model's train function is made for a fit that makes its first step
    next, with nothing of the user's in between. What is traced of it here need not be
    traced again there."""
    pipeline = read(dataset)
    check_pipeline(pipeline)
    copy = rebuild(pipeline, fresh=True) if pipeline.rereadable else dataset
    if model is None:
        with same_draws(), restored(None, variables_in(pipeline)):
            yield _reading(copy, clock, where)
        return
    check_python(model)
    _build(model, dataset)
    with same_draws(), _train_function(model, shared) as function:
        loop = CallLoop("fit", where, clock, model.train_function)
        loop.model = model
        strategy = model.distribute_strategy
        if type(strategy).__name__ != "_DefaultDistributionStrategy":
            loop.strategy = strategy
        loop.steps_per_call = int(model.steps_per_execution)
        loop.eager = bool(model.run_eagerly)
        _reads(loop, copy, pipeline.cardinality)
        touched = variables_in(pipeline)
        known = [*variables_of(model), *touched]
        touched += _touched(model, loop, known, function)
        with restored(model, touched):
            begin_to_train(loop)
            yield loop


def begin_to_train(loop: CallLoop) -> None:
    """The first batch, the first step, and how long each takes."""
    assert loop.live is not None
    try:
        loop.live.begin()
        first = loop.clock.now()
        loop.live_step()
    except (InputFailed, LoopEnded, StopIteration, tf.errors.OutOfRangeError) as error:
        raise ended(error) from None
    loop.first_step_seconds = loop.clock.now() - first


def _touched(
    model: Any, loop: CallLoop, known: list[Any], function: _TrainFunction
) -> list[Any]:
    """The variables that the step touches besides those that are `known`: an
    optimizer of the user's own, a generator. They exist from here on, with the values
    that the first step would find. Raises where the step touches anything else."""
    generator = make_global_generator()
    drawn, kept = random_states(), keras_state()
    if not loop.eager:
        graph = traced_step(model.train_function, loop.live and loop.live.iterator)
    elif loop.strategy is None:
        step = tf.function(model.train_step, autograph=False)
        graph = step.get_concrete_function(loop.source.element_spec).graph
    else:
        raise CannotPutBack("the step runs eagerly under a strategy")
    if random_states() != drawn:
        raise CannotPutBack("Python draws random numbers while the step is traced")
    if loop.eager and draws_by_itself(graph):
        raise CannotPutBack("the step draws random numbers that depend on those before")
    function.spoilt = (
        draws_by_itself(graph)
        or not is_same_state(keras_state(), kept)
        or touches(graph, generator)
    )
    return variables_of_step(graph, known)


def _reads(loop: CallLoop, copy: Any, cardinality: int) -> None:
    distributed = copy
    if loop.strategy is not None:
        distributed = loop.strategy.experimental_distribute_dataset(copy)
    loop.reads(distributed, iter(distributed))
    loop.source = copy
    loop.steps_per_epoch = cardinality if cardinality > 0 else None
    loop.keep_to_its_passes()


def _reading(copy: Any, clock: SystemClock, where: Where | None) -> CallLoop:
    """A dataset without a model: the step is to take a batch."""
    loop = CallLoop("iterator", where, clock, next)
    loop.reads(copy, iter(copy))
    cardinality = int(copy.cardinality())
    loop.steps_per_epoch = cardinality if cardinality > 0 else None
    loop.keep_to_its_passes()
    return loop


def watched(
    loop: CallLoop, clock: SystemClock, lines: Mapping[Any, Where | None] | None = None
) -> Watch:
    """What a watch would have seen of this model. `lines` are those that made its
    embedding layers, where they are known."""
    watch = Watch(clock, lambda _: None)
    if loop.model is not None:
        watch.updates = [] if loop.model.optimizer is None else [_update(loop.model)]
        for layer in _embeddings(loop.model):
            watch.tables[layer] = (lines or {}).get(layer)
    return watch


def ended(error: BaseException) -> BaseException:
    if isinstance(error, InputFailed):
        return error.error
    return FeedlineError(
        "the dataset ended before it could be measured. Give a longer one, or one that "
        "can be read again (not a generator that keeps state)"
    )


def check(model: Any, dataset: Any, name: str) -> None:
    if not isinstance(dataset, tf.data.Dataset):
        raise FeedlineError(
            f"{name} needs a tf.data.Dataset, not {type(dataset).__name__}. For "
            "arrays: tf.data.Dataset.from_tensor_slices((x, y)).batch(32)"
        )
    if model is not None and not getattr(model, "compiled", False):
        raise FeedlineError(
            f"{name} needs a compiled Keras model: call "
            "model.compile(optimizer=..., loss=...) first"
        )


def _build(model: Any, dataset: Any) -> None:
    """Variables must exist before they can be kept. Built symbolically: nothing is
    computed, so nothing is drawn that the first step would not draw. With the shapes
    that the first step is traced with: what the pipeline does not know is not known
    there, whatever a batch of it has."""
    if not _has_call(model):
        return  # a model with a `train_step` alone is built by its first step
    layers = list(keras_private.flatten_layers(model)())
    built = all(layer.built for layer in layers) and model.optimizer.built
    if built:
        return
    size = _batch_size(model)
    batch = tf.nest.map_structure(lambda spec: _of(spec, size), dataset.element_spec)
    try:
        with model.distribute_strategy.scope():
            keras_private.symbolic_build(model)(data_batch=batch)
    except Exception as error:
        if _built_by_its_step(model, layers):
            return
        raise FeedlineError(
            f"the model cannot be built before its first step: {one_sentence(error)}"
        ) from error


def _built_by_its_step(model: Any, layers: list[Any]) -> bool:
    """All that it is made of is built, and how it is called only its own `train_step`
    knows (a tuple of three pictures, say): it is built as one without a `call` is."""
    import keras

    own = type(model).train_step is not keras.Model.train_step
    return own and all(layer.built for layer in layers if layer is not model)


def _of(spec: Any, size: int | None) -> Any:
    if size is None or not isinstance(spec, tf.TensorSpec) or not spec.shape.rank:
        return spec
    return tf.TensorSpec([size, *spec.shape[1:]], spec.dtype)


def _batch_size(model: Any) -> int | None:
    """The one that the model was made for, as a stateful RNN is; None where it takes
    any."""
    made_for = {each.shape[0] for each in getattr(model, "inputs", None) or ()}
    (size,) = made_for if len(made_for) == 1 else (None,)
    return size


def _has_call(model: Any) -> bool:
    """Keras' own models have one; a subclass may do all in its `train_step`."""
    import keras

    return type(model).call is not keras.Model.call


def _update(model: Any) -> Update:
    """Tables of `Embedding` layers get gradients that name rows."""
    variables = list(model.trainable_variables)
    tables = {id(layer.embeddings) for layer in _embeddings(model)}
    sparse = {
        position: None
        for position, variable in enumerate(variables)
        if id(variable) in tables
    }
    return Update.of(model.optimizer, variables, sparse)


def _embeddings(model: Any) -> list[Any]:
    return [
        layer
        for layer in keras_private.flatten_layers(model)()
        if type(layer).__name__ == "Embedding" and layer.built
    ]


@dataclass
class _TrainFunction:
    """`spoilt`: what a fit would do by tracing and calling it for the first time was
    not the same any more. Until its trace was looked at, nobody knows."""

    spoilt: bool = True


@contextmanager
def _train_function(model: Any, shared: bool) -> Iterator[_TrainFunction]:
    """Inside, the model has a train function to experiment with: a new one, or, if it
    may be `shared` with the fit that begins, the fit's own, which is traced only
    once then. One that is spoilt the fit gets anew."""
    before, function = model.train_function, _TrainFunction()
    shared = shared and is_untraced(before)
    if not shared:
        model.make_train_function(force=True)
    try:
        yield function
    finally:
        if shared and function.spoilt:
            model.make_train_function(force=True)
        else:
            model.train_function = before
