"""Everything that training changes, kept and put back bit for bit: variables, and
the states from which random numbers are drawn."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def variables_of(model: Any) -> list[Any]:
    """Weights, metrics, seed generators and the optimizer's own, each once."""
    found = [*model.variables, *(v for m in model.metrics for v in m.variables)]
    if getattr(model, "optimizer", None) is not None:
        found += list(model.optimizer.variables)
    unique: dict[int, Any] = {id(variable): variable for variable in found}
    return list(unique.values())


@contextmanager
def restored(model: Any) -> Iterator[None]:
    """Whatever happens inside, the variables have their old values after it.
    Metrics that are made inside begin anew."""
    variables = variables_of(model)
    before = [variable.numpy().copy() for variable in variables]
    try:
        yield
    finally:
        if len(variables_of(model)) > len(variables):
            model.reset_metrics()
        for variable, value in zip(variables, before, strict=True):
            variable.assign(value)


@contextmanager
def same_draws() -> Iterator[None]:
    """Whatever is drawn inside, what is drawn after it is as without it: by
    Python, by NumPy, and by TensorFlow's operations that have no seed."""
    import numpy as np
    from tensorflow.python.eager import context
    from tensorflow.python.ops import stateful_random_ops

    seeds = getattr(context.context(), "_rng", None)
    generator = stateful_random_ops.global_generator
    python, numpy = random.getstate(), np.random.get_state()
    drawn = seeds.getstate() if seeds is not None else None
    state = generator.state.numpy() if generator is not None else None
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
        if seeds is not None and drawn is not None:
            seeds.setstate(drawn)
        if generator is not None:
            generator.state.assign(state)
