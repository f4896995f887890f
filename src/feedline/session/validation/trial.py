"""The validation of a fit is measured and cured on a copy, and everything is put back.

What `tuning.examine_and_cure` does for the training, with the model's test step.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import tensorflow as tf

from feedline.errors import CannotPutBack, FeedlineError
from feedline.fixes.fix import Grade
from feedline.job import marks
from feedline.job.loops.drop_iterator import without_waiting
from feedline.job.loops.loop import InputFailed, LoopEnded, drive
from feedline.job.loops.snapshot import (
    nbytes,
    restored,
    same_draws,
    variables_in,
    variables_of,
)
from feedline.job.private import keras as keras_private
from feedline.job.private import tensorflow as tf_private
from feedline.job.script.watch import Watch
from feedline.job.tfdata.owners import reachable
from feedline.job.tfdata.pipeline import Pipeline
from feedline.job.tfdata.read import read
from feedline.job.tfdata.rebuild import rebuild
from feedline.measure.clock import SystemClock
from feedline.measure.machine import memory
from feedline.measure.measurement import ValidationTimes
from feedline.measure.step import measure_step
from feedline.measure.validation import by_experiment
from feedline.prove.proof import Cured
from feedline.session.experiment import examine_and_search
from feedline.session.inprocess import ended
from feedline.session.plans.stand_ins import shared
from feedline.session.tuning import counted, stages_in_use, training_seconds
from feedline.session.validation.bench import validation_bench, why_not
from feedline.session.worth import Budget

_GLANCE_S = 0.5


def examine_and_cure(
    loop: Any,
    data: Any,
    pipeline: Pipeline,
    allowed: tuple[Grade, ...],
    budget: Budget,
    *,
    read_already: list[Any],
    say: Callable[[str], None] = lambda _: None,
    budgeted: Callable[[float], None] = lambda _: None,
) -> tuple[ValidationTimes, Cured]:
    """Of this fit's validation, which reads `data`. Raises `TooShort` where all the
    passes that the fit makes could not repay it."""
    clock, passes = SystemClock(), loop.validation.passes
    model = loop.model
    if nbytes(variables_of(model)) > memory()[1] / 4:
        raise FeedlineError("a copy of the model's variables would not fit")
    budget.for_training(_reading_s(pipeline, clock, passes))
    try:
        with validation_bench(model, data, clock, loop.where) as bench:
            bench.epochs = passes
            bench.steps_per_epoch = bench.steps_per_epoch or counted(bench)
            all_s, _ = training_seconds(bench)
            seconds = budget.for_training(all_s)
            if bench.live is not None:
                bench.live.within(seconds)
            budgeted(seconds)
            job, measured, cured = drive(
                examine_and_search(
                    bench,
                    Watch(clock, lambda _: None),
                    clock,
                    seconds,
                    allowed,
                    say=say,
                    used=stages_in_use(pipeline, read_already) | shared(pipeline),
                    reached=reachable(pipeline),
                    training_s=None if budget.given else all_s,
                    validates=True,
                ),
                bench.execute,
            )
    except (InputFailed, LoopEnded, StopIteration, tf.errors.OutOfRangeError) as error:
        raise ended(error) from None
    if job.steps_per_epoch is None:
        raise FeedlineError("the number of batches in its data is not known")
    return by_experiment(measured.step, job.steps_per_epoch), cured


def examine(loop: Any, seconds: float) -> ValidationTimes:
    """What the validation of this fit costs, which has not come to it yet: `feedline
    why` stops the script before. Raises FeedlineError where that cannot be tried."""
    source = _made_by_keras(loop)
    data = as_far_as_read(source, loop)
    pipeline = read(data).numbered()
    reason = why_not_cut(source, loop) or why_not(loop.model, pipeline, loop.strategy)
    if reason:
        raise CannotPutBack(reason)
    clock = SystemClock()
    try:
        with (
            without_waiting(),
            validation_bench(loop.model, data, clock, loop.where) as bench,
        ):
            steps = bench.steps_per_epoch or counted(bench)
            if steps is None:
                raise FeedlineError("the number of batches in its data is not known")
            step = drive(
                measure_step(
                    clock,
                    seconds=seconds,
                    accelerated=False,
                    batch_size=None,
                    steps_per_epoch=steps,
                ),
                bench.execute,
            )
    except (InputFailed, LoopEnded, StopIteration, tf.errors.OutOfRangeError) as error:
        raise ended(error) from None
    told, where = loop.validation, getattr(data, marks.WHERE, None)
    return replace(
        by_experiment(step, steps),
        passes=told.passes,
        every=told.every,
        data=told.kind,
        where=where or loop.where,
    )


def _made_by_keras(loop: Any) -> Any:
    """The dataset that the fit reads, or will make of what it was given."""
    import keras

    told, model = loop.validation, loop.model
    made = keras_private.eval_epoch_iterator.get(model)
    if made is None:
        if isinstance(told.data, tf.data.Dataset):
            return told.data
        if told.data is None or told.kind == "generator":
            raise FeedlineError("the fit has not validated yet")
        x, y, weight = keras.utils.unpack_x_y_sample_weight(told.data)
        made = keras_private.TFEpochIterator(
            x=x,
            y=y,
            sample_weight=weight,
            batch_size=told.batch_size,
            steps_per_epoch=told.steps,
            shuffle=False,
            distribute_strategy=model.distribute_strategy,
            steps_per_execution=model.steps_per_execution,
        )
    distributed = keras_private.distributed_dataset(made)
    return tf_private.original_dataset.get(distributed, distributed)


def cut_short(source: Any, loop: Any) -> bool:
    """Are its passes broken off before the end of the data?"""
    steps = loop.validation.steps
    return bool(steps) and not 0 <= int(source.cardinality()) <= steps


def why_not_cut(source: Any, loop: Any) -> str:
    """Where they are, why nobody can tell what a pass reads; else empty."""
    if not cut_short(source, loop):
        return ""
    if loop.validation.steps % loop.model.steps_per_execution:
        return "its steps do not fill a whole number of launches"
    # Early releases of Keras 3 went on reading where the pass before had ended.
    evaluate = inspect.unwrap(type(loop.model).evaluate)
    if "reset" not in evaluate.__code__.co_names:
        return "each pass goes on where the one before it stopped"
    return ""


def as_far_as_read(source: Any, loop: Any) -> Any:
    """With `validation_steps` a pass is broken off there and the next begins anew: what
    comes after is not read, and what is kept of it would never be whole."""
    steps = loop.validation.steps
    if not cut_short(source, loop):
        return source
    taken = source.take(steps)
    setattr(taken, marks.WHERE, getattr(source, marks.WHERE, None))
    return taken


def _reading_s(
    pipeline: Pipeline, clock: SystemClock, passes: int | None
) -> float | None:
    """How long all passes read their data, by a glance at a copy: only that can be
    made shorter. None where a glance does not tell."""
    if passes is None:
        return None
    read, whole = 0, False
    drawn = variables_in(pipeline)
    with without_waiting(), same_draws(), restored(None, drawn):
        began = clock.now()
        batches = iter(rebuild(pipeline, fresh=True))
        while not whole and clock.now() < began + _GLANCE_S:
            whole = next(batches, None) is None
            read += not whole
        seconds = clock.now() - began
        del batches
    if not whole:
        if pipeline.cardinality <= 0 or not read:
            return None
        seconds *= pipeline.cardinality / read
    return passes * seconds
