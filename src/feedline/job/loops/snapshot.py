"""Everything that training changes, kept and put back bit for bit: variables, and
the states from which random numbers are drawn."""

from __future__ import annotations

import copy
import math
import random
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

from feedline.errors import CannotPutBack
from feedline.job.private import keras
from feedline.job.private import tensorflow as tf_private
from feedline.job.source.threads import users_beside
from feedline.job.tfdata.pipeline import Pipeline


def variables_of(model: Any) -> list[Any]:
    """Weights, metrics, seed generators and the optimizer's own, each once. What else
    a step changes, `step_state.py` reads from the step."""
    found = [*model.variables, *(v for m in model.metrics for v in m.variables)]
    if getattr(model, "optimizer", None) is not None:
        found += list(model.optimizer.variables)
    unique: dict[int, Any] = {id(variable): variable for variable in found}
    return list(unique.values())


def variables_in(pipeline: Pipeline) -> list[Any]:
    """Those that the pipeline's functions read or advance: the seed generators of
    Keras' random layers, a `tf.random.Generator`."""
    found: dict[int, Any] = {}
    for stage in pipeline.stages():
        for traced in getattr(stage.handle, "traced", ()):
            graph = getattr(traced.function, "graph", None)
            for variable in getattr(graph, "variables", ()):
                found[id(variable)] = variable
    return list(found.values())


def nbytes(variables: Iterable[Any]) -> int:
    """What a copy of them needs."""
    return sum(math.prod(v.shape) * _width(v) for v in variables)


def _width(variable: Any) -> int:
    import tensorflow as tf

    return int(tf.as_dtype(variable.dtype).size) or 1


@contextmanager
def restored(model: Any, also: Sequence[Any] = ()) -> Iterator[None]:
    """Whatever happens inside, the variables have their old values after it.
    Metrics that are made inside begin anew."""
    variables = variables_of(model) if model is not None else []
    kept = list({id(each): each for each in (*variables, *also)}.values())
    before = [variable.numpy().copy() for variable in kept]
    try:
        yield
    finally:
        if model is not None and len(variables_of(model)) > len(variables):
            model.reset_metrics()
        for variable, value in zip(kept, before, strict=True):
            variable.assign(value)


def random_states(*, beside: bool = False) -> tuple[Any, ...]:
    """From what Python, NumPy and TensorFlow draw next; `beside` as in `same_draws`."""
    import numpy as np

    from feedline.job.private.tensorflow import context

    seeds = tf_private.rng.get(context.context())
    drawn = seeds.getstate() if seeds is not None else None
    if beside:
        return (drawn,)
    numpy: Any = np.random.get_state(legacy=True)
    numpy = (numpy[0], numpy[1].tobytes(), *numpy[2:])
    return random.getstate(), numpy, drawn


def python_beside(dataset: Any) -> bool:
    """While this is read, does Python of the script run in threads of TensorFlow's?"""
    from feedline.job.tfdata.read import read

    try:
        return any(stage.python for stage in read(dataset).stages())
    except Exception:  # what cannot be understood may be anything
        return True


@contextmanager
def same_draws(*, beside: bool = False) -> Iterator[None]:
    """Whatever is drawn inside, what is drawn after it is as without it: by
    Python, by NumPy, by TensorFlow's operations that have no seed, and by Keras,
    which numbers its layers and keeps a generator for the whole process.

    `beside`: a dataset's Python runs in another thread meanwhile. What it draws then
    from Python's and NumPy's generators must not be drawn again, so these are left
    alone; and where Keras would draw from them inside, `CannotPutBack` is raised. So
    it is where another thread of the script's runs: what that draws nobody knows."""
    import numpy as np

    from feedline.job.private.tensorflow import context, stateful_random_ops

    if name := users_beside():
        raise CannotPutBack(
            f"the script runs in another thread too ({name}), and may draw there"
        )
    seeds = tf_private.rng.get(context.context())
    generator = stateful_random_ops.global_generator
    python, numpy = random.getstate(), np.random.get_state()
    drawn = seeds.getstate() if seeds is not None else None
    state = generator.state.numpy() if generator is not None else None
    with _keras_globals(), _without_draws() if beside else nullcontext():
        try:
            yield
        finally:
            if not beside:
                random.setstate(python)
                np.random.set_state(numpy)
            if seeds is not None and drawn is not None:
                seeds.setstate(drawn)
            if generator is not None:
                generator.state.assign(state)


class _NoDraws:
    """In the place of Python's `random` where Keras draws its seeds from it."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()

    def __getattr__(self, name: str) -> Any:
        if threading.get_ident() == self._thread:
            raise CannotPutBack("Keras would draw a seed from Python's random numbers")
        return getattr(random, name)


@contextmanager
def _without_draws() -> Iterator[None]:
    module = sys.modules.get(keras.SEEDS)
    if module is None:
        yield
        return
    before = keras.python_random.get(module)
    keras.python_random.set(module, _NoDraws())
    try:
        yield
    finally:
        keras.python_random.set(module, before)


@contextmanager
def _keras_globals() -> Iterator[None]:
    """What Keras keeps for the whole process, put back: a generator that was made
    inside is forgotten, so that the script's own step makes it again, by the same
    draw."""
    tracker = _tracker()
    if tracker is None:
        yield
        return
    before = {name: _copied(value) for name, value in vars(tracker).items()}
    generator = before.get("global_seed_generator")
    state = generator.state.numpy() if generator is not None else None
    try:
        yield
    finally:
        for name in vars(tracker).keys() - before.keys():
            delattr(tracker, name)
        for name, value in before.items():
            setattr(tracker, name, value)
        if generator is not None:
            generator.state.assign(state)


def keras_state() -> dict[str, Any]:
    """What Keras keeps for the whole process, to be compared by `is_same_state`."""
    tracker = _tracker()
    kept = {} if tracker is None else vars(tracker)
    return {name: _copied(value) for name, value in kept.items()}


def is_same_state(one: Any, two: Any) -> bool:
    """The same objects in the same dicts, lists and sets; plain values by value."""
    if type(one) is not type(two):
        return False
    if isinstance(one, dict):
        same = [*one] == [*two]
        return same and all(is_same_state(one[name], two[name]) for name in one)
    if isinstance(one, list | tuple):
        return len(one) == len(two) and all(map(is_same_state, one, two))
    plain = isinstance(one, str | int | float | set)
    return one is two or (plain and bool(one == two))


def make_global_generator() -> Any:
    """The generator that Keras makes, by a draw of Python's, when it is first needed.
    Inside of `same_draws`, which forgets it. None if there was one already."""
    known = keras_state().get("global_seed_generator")
    with suppress(ImportError, AttributeError):
        made = keras.seed_generator.global_seed_generator()
        return made if made is not known else None
    return None


def _tracker() -> Any:
    module = sys.modules.get(keras.GLOBAL_STATE)
    return getattr(module, "GLOBAL_STATE_TRACKER", None)


def _copied(value: Any) -> Any:
    """Counters and stacks are changed in place."""
    return copy.copy(value) if isinstance(value, dict | list | set) else value
