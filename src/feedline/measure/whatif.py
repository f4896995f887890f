"""Experiments on changed copies: what if the order did not matter, a map ran
once per batch, an eager step were compiled, sixteen steps went per launch?

Each gives milliseconds, or nothing where it cannot be tried. The job's own
objects are put back as they were.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from feedline.job.loop import Clock, Run
from feedline.job.loops import CallLoop
from feedline.job.pipeline import Pipeline, Stage
from feedline.measure.measurement import Estimate
from feedline.measure.timing import compare

log = logging.getLogger(__name__)

STEPS_PER_EXECUTION = 16


def input_variants(
    pipeline: Pipeline, clock: Clock, seconds: float
) -> dict[str, Estimate]:
    """The input alone, as it is (`input:as-is`) and changed, interleaved."""
    import tensorflow as tf

    from feedline.job.rebuild import rebuild

    variants: dict[str, Any] = {}
    if any(_ordered_and_parallel(stage) for stage in pipeline.stages()):
        options = tf.data.Options()
        options.deterministic = False
        variants["input:unordered"] = rebuild(pipeline, fresh=True).with_options(
            options
        )
    if not variants:
        return {}
    variants["input:as-is"] = rebuild(pipeline, fresh=True)
    readers = {name: _reader(dataset) for name, dataset in variants.items()}
    return compare(readers, clock, seconds=seconds)


def _ordered_and_parallel(stage: Stage) -> bool:
    parallel = stage.args.get("num_parallel_calls") not in (None, 0, 1)
    return parallel and stage.args.get("deterministic") is not False


def _reader(dataset: Any) -> Callable[[], object]:
    """Reads batches round after round; a call reads one."""
    iterator = iter(dataset)

    def read() -> object:
        nonlocal iterator
        try:
            return next(iterator)
        except StopIteration:
            iterator = iter(dataset)
            return next(iterator)

    return read


def vectorized_map(
    pipeline: Pipeline, stage: Stage, elements: int, clock: Clock, seconds: float
) -> dict[str, Estimate]:
    """One batch's worth of this map, element by element and all at once."""
    import tensorflow as tf

    from feedline.job.rebuild import rebuild

    if not stage.functions or stage.python or stage.random or elements < 2:
        return {}
    function = stage.handle.dataset._map_func.function
    upstream = rebuild(replace(pipeline, root=stage.inputs[0]), fresh=True)
    batch = next(iter(upstream.batch(elements, drop_remainder=True)), None)
    if batch is None:
        return {}
    flat = tf.nest.flatten(batch, expand_composites=True)

    @tf.function
    def at_once() -> Any:
        return tf.vectorized_map(lambda parts: function(*parts), flat)

    try:
        at_once()
    except Exception as error:
        log.info("%s cannot run once per batch: %s", stage.label(), error)
        return {}
    return {
        "input:vectorized": compare({"all": at_once}, clock, seconds=seconds)["all"]
    }


def step_variants(
    loop: CallLoop, clock: Clock, seconds: float, *, eager: bool
) -> dict[str, Estimate]:
    """Keras' step compiled, and with many steps per launch; the job's own step
    in the same turns as `step:as-is`."""
    model = loop.model
    if model is None or loop.strategy is not None:
        return {}
    names = ["step:compiled"] if eager else ["step:steps-per-execution"]
    if not eager and loop.steps_per_call > 1:
        return {}
    ring = loop.ring(Run("host"))
    spec = getattr(loop.live.iterator if loop.live else None, "element_spec", None)
    calls: dict[str, Callable[[], object]] = {}
    per_call: dict[str, int] = {"step:as-is": 1}
    own = iter(ring.dataset(spec))
    calls["step:as-is"] = lambda: loop.call(own)
    with _kept(model):
        for name in names:
            many = name == "step:steps-per-execution"
            per_call[name] = STEPS_PER_EXECUTION if many else 1
            model.run_eagerly = False
            model.steps_per_execution = per_call[name]
            model.make_train_function(force=True)
            train, fed = model.train_function, iter(ring.dataset(spec))
            calls[name] = _bind(train, fed)
            calls[name]()
        times = compare(calls, clock, seconds=seconds)
    return {name: _divided(time, per_call[name]) for name, time in times.items()}


def without_strategy(
    loop: CallLoop, pipeline: Pipeline, clock: Clock, seconds: float
) -> dict[str, Estimate]:
    """The same model and the same pipeline, copied outside of the strategy: a
    strategy costs in the step and in dealing out the batches."""
    import keras
    import tensorflow as tf

    from feedline.job.rebuild import rebuild

    if loop.model is None or loop.strategy is None:
        return {}
    try:
        copy = keras.models.clone_model(loop.model)
        copy.compile_from_config(loop.model.get_compile_config())
    except (ValueError, TypeError, NotImplementedError) as error:
        log.info("the model cannot be copied: %s", error)
        return {}
    copy.make_train_function()
    dataset = rebuild(pipeline, fresh=True)
    iterator = iter(dataset)

    def step() -> object:
        nonlocal iterator
        try:
            return copy.train_function(iterator)
        except (StopIteration, tf.errors.OutOfRangeError):
            iterator = iter(dataset)
            return copy.train_function(iterator)

    return compare(
        {"step:no-strategy": step, "step:as-is": loop.live_step},
        clock,
        seconds=seconds,
    )


def _bind(call: Callable[[Any], object], argument: Any) -> Callable[[], object]:
    return lambda: call(argument)


def _divided(time: Estimate, by: int) -> Estimate:
    return Estimate(time.value / by, time.low / by, time.high / by, time.rounds)


@contextmanager
def _kept(model: Any) -> Iterator[None]:
    """Whatever is tried inside, the model's own step comes back."""
    kept = (model.train_function, model.run_eagerly, model.steps_per_execution)
    try:
        yield
    finally:
        model.run_eagerly, model.steps_per_execution = kept[1], kept[2]
        model.train_function = kept[0]
