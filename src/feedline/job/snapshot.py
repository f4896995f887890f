"""Every variable that training changes, kept and put back bit for bit."""

from __future__ import annotations

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
def restored(variables: list[Any]) -> Iterator[None]:
    """Whatever happens inside, the variables have their old values after it."""
    import numpy as np

    before = [np.array(variable) for variable in variables]
    try:
        yield
    finally:
        for variable, value in zip(variables, before, strict=True):
            variable.assign(value)
