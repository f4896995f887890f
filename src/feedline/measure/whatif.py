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

from feedline.job.loops.call import CallLoop
from feedline.job.loops.loop import Clock, Run
from feedline.job.private import tensorflow as tf_private
from feedline.job.tfdata.pipeline import Pipeline, Stage
from feedline.measure.experiment import estimate
from feedline.measure.measurement import Estimate, WhatIf
from feedline.measure.timing import compare

log = logging.getLogger(__name__)

STEPS_PER_EXECUTION = 16


def input_variants(
    pipeline: Pipeline, clock: Clock, seconds: float
) -> dict[WhatIf, Estimate]:
    """The input alone, as it is (`input:as-is`) and changed, interleaved."""
    import tensorflow as tf

    from feedline.job.tfdata.rebuild import rebuild

    if not has_order(pipeline):
        return {}
    options = tf.data.Options()
    options.deterministic = False
    free = rebuild(replace(pipeline, root=_unordered(pipeline.root)), fresh=True)
    variants: dict[WhatIf, Any] = {
        "input:as-is": rebuild(pipeline, fresh=True),
        "input:unordered": free.with_options(options),
    }
    rounds: dict[WhatIf, list[float]] = {name: [] for name in variants}
    until = clock.now() + seconds
    while len(rounds["input:as-is"]) < _LEAST_ROUNDS or (
        clock.now() < until and len(rounds["input:as-is"]) < _MOST_ROUNDS
    ):
        for name, dataset in variants.items():
            rounds[name].append(_read_alone(dataset, clock))
        if clock.now() > until + INPUT_VARIANTS_S:
            break
    if len(rounds["input:as-is"]) < _FEWEST_ROUNDS:
        return {}
    return {name: estimate(ms) for name, ms in rounds.items()}


_FEWEST_ROUNDS, _LEAST_ROUNDS, _MOST_ROUNDS = 3, 4, 8
_ALONE_S = 0.3
INPUT_VARIANTS_S = 2 * _LEAST_ROUNDS * 1.5 * _ALONE_S
"""What the least number of rounds of both takes."""


def has_order(pipeline: Pipeline) -> bool:
    """Does a stage with several threads keep the order?"""
    return any(map(_ordered_and_parallel, pipeline.stages()))


def _ordered_and_parallel(stage: Stage) -> bool:
    parallel = stage.args.get("num_parallel_calls") not in (None, 0, 1)
    return parallel and stage.args.get("deterministic") is not False


def _unordered(stage: Stage) -> Stage:
    """The stage's own `deterministic=True` would outdo the option."""
    inputs = tuple(_unordered(upstream) for upstream in stage.inputs)
    args = stage.args
    if _ordered_and_parallel(stage) and args.get("deterministic"):
        args = {**args, "deterministic": False}
    return replace(stage, inputs=inputs, args=args)


def _read_alone(dataset: Any, clock: Clock, *, seconds: float = _ALONE_S) -> float:
    """Milliseconds per batch of a pipeline that has just come to its pace. It is
    gone afterwards: two that live side by side would work against each other."""
    from feedline.job.loops.devices import quiesce

    quiesce(clock)
    batches = iter(dataset.repeat())
    warm = clock.now() + seconds / 2
    for _ in range(2):
        next(batches)
    while clock.now() < warm:
        next(batches)
    begin, read = clock.now(), 0
    while read < 2 or clock.now() < begin + seconds:
        next(batches)
        read += 1
    return 1e3 * (clock.now() - begin) / read


def vectorized_map(
    pipeline: Pipeline, stage: Stage, elements: int, clock: Clock, seconds: float
) -> dict[WhatIf, Estimate]:
    """One batch's worth of this map, element by element and all at once."""
    import tensorflow as tf

    from feedline.job.tfdata.rebuild import rebuild

    if not stage.functions or stage.python or stage.random or elements < 2:
        return {}
    function = tf_private.map_func(stage.handle.dataset).function
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
) -> dict[WhatIf, Estimate]:
    """Keras' step compiled, and with many steps per launch; the job's own step
    in the same turns as `step:as-is`."""
    model = loop.model
    if model is None or loop.strategy is not None:
        return {}
    name: WhatIf = "step:compiled" if eager else "step:steps-per-execution"
    if not eager and loop.steps_per_call > 1:
        return {}
    ring = loop.ring(Run("host"))
    spec = loop.live.element_spec if loop.live else None
    many = STEPS_PER_EXECUTION if not eager else 1
    calls: dict[WhatIf, Callable[[], object]] = {}
    per_call: dict[WhatIf, int] = {"step:as-is": 1, name: many}
    own = iter(ring.dataset(spec))
    calls["step:as-is"] = lambda: loop.call(own)
    with _kept(model):
        model.run_eagerly = False
        model.steps_per_execution = many
        model.make_train_function(force=True)
        calls[name] = _bind(model.train_function, iter(ring.dataset(spec)))
        calls[name]()
        times = compare(calls, clock, seconds=seconds)
    return {each: _divided(time, per_call[each]) for each, time in times.items()}


def without_strategy(
    loop: CallLoop, pipeline: Pipeline, clock: Clock, seconds: float
) -> dict[WhatIf, Estimate]:
    """The same model and the same pipeline, copied outside of the strategy: a
    strategy costs in the step and in dealing out the batches."""
    import keras
    import tensorflow as tf

    from feedline.job.tfdata.rebuild import rebuild

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

    calls: dict[WhatIf, Callable[[], object]] = {
        "step:no-strategy": step,
        "step:as-is": loop.live_step,
    }
    return compare(calls, clock, seconds=seconds)


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
