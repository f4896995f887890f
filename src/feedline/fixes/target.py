"""What the fixes of the step work on: a live Keras model about to be trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from feedline.job.pipeline import Pipeline

Undo = Callable[[], None]


@dataclass(frozen=True)
class Target:
    """`epochs` is Keras' iterator over the epochs of the fit under way, if any;
    `pipeline` what it reads, as the user wrote it.

    A fix changes attributes of the model; whoever installs it makes the model's
    train function anew afterwards.
    """

    model: Any
    epochs: Any = None
    pipeline: Pipeline | None = None

    def set(self, owner: Any, **values: Any) -> Undo:
        """Set attributes, and say how to have the old ones back."""
        before = {name: getattr(owner, name) for name in values}
        for name, value in values.items():
            setattr(owner, name, value)

        def undo() -> None:
            for name, value in before.items():
                setattr(owner, name, value)

        return undo


def all_of(undo: list[Undo]) -> Undo:
    """One that undoes them all, the last first."""

    def together() -> None:
        for each in reversed(undo):
            each()

    return together
