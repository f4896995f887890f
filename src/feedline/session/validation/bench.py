"""A loop over the validation data of a fit, to experiment with: its step is the model's
own test step, traced anew, and it reads a copy of the data. When it is over, every
variable and every source of random numbers is as it was, as with the training's
(`inprocess.bench`). Where not all that such a step touches can be put back, it raises
`CannotPutBack`, and nothing is run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from feedline.errors import CannotPutBack
from feedline.job.loops.call import CallLoop
from feedline.job.loops.snapshot import (
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
    traced_step,
    variables_of_step,
)
from feedline.job.source.users import is_users
from feedline.job.tfdata.pipeline import Pipeline, Where
from feedline.job.tfdata.read import read
from feedline.job.tfdata.rebuild import rebuild
from feedline.measure.clock import SystemClock
from feedline.session.inprocess import begin_to_train


def why_not(model: Any, pipeline: Pipeline, strategy: Any) -> str:
    """Why nothing may be tried with this validation; empty where it may."""
    if not pipeline.rereadable:
        return "its data cannot be read twice"
    if strategy is not None:
        return f"it runs under {type(strategy).__name__}"
    if model.run_eagerly:
        return "its steps run eagerly"
    if is_users(type(model).make_test_function):
        return "the model makes its own test function"
    try:
        check_pipeline(pipeline)
        check_python(model, validates=True)
    except CannotPutBack as reason:
        return str(reason)
    return ""


@contextmanager
def validation_bench(
    model: Any, dataset: Any, clock: SystemClock, where: Where | None
) -> Iterator[CallLoop]:
    """Of a built model, inside of its fit, where `why_not` has nothing to say."""
    pipeline = read(dataset)
    copy = rebuild(pipeline, fresh=True)
    with same_draws(), _own_function(model):
        loop = CallLoop("fit", where, clock, model.test_function)
        loop.model = model
        loop.steps_per_call = int(model.steps_per_execution)
        loop.reads(copy, iter(copy))
        loop.source = copy
        loop.steps_per_epoch = max(0, pipeline.cardinality) or None
        assert loop.live is not None
        known = [*variables_of(model), *variables_in(pipeline)]
        touched = _touched(model.test_function, loop.live.iterator, known)
        with restored(model, [*variables_in(pipeline), *touched]):
            begin_to_train(loop)
            yield loop


def _touched(test_function: Any, iterator: Any, known: list[Any]) -> list[Any]:
    make_global_generator()
    drawn = random_states()
    graph = traced_step(test_function, iterator)
    if random_states() != drawn:
        raise CannotPutBack("Python draws random numbers while the step is traced")
    return variables_of_step(graph, known)


@contextmanager
def _own_function(model: Any) -> Iterator[None]:
    """A test function of our own, so that the model's stays as it is."""
    before = model.test_function
    model.make_test_function(force=True)
    try:
        yield
    finally:
        model.test_function = before
