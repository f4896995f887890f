"""What the fixes of the step work on: a live Keras model about to be trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from feedline.fixes.fix import CannotFix
from feedline.job.tfdata.pipeline import Pipeline

Undo = Callable[[], None]


@dataclass(frozen=True)
class Target:
    """`epochs` is Keras' iterator over the epochs of the fit under way, if any;
    `pipeline` what it reads, as the user wrote it; `callbacks` are the names of those
    of its callbacks that are called for every batch.

    A fix changes attributes of the model, or asks for them `for_training`, or puts
    something `around` its train function, which is made anew afterwards.
    """

    model: Any
    epochs: Any = None
    pipeline: Pipeline | None = None
    around: list[Callable[[Any], Any]] = field(default_factory=list)
    made: list[Undo] = field(default_factory=list)
    callbacks: tuple[str, ...] = ()
    replaced: Callable[[], None] = lambda: None
    """Told when the script has put another train function in the place of ours."""
    tell: Callable[[str], None] = lambda _: None
    """Told, in a sentence for the user, when a fix has taken itself off."""

    def alone(self) -> None:
        """Refuse a model that a strategy trains."""
        strategy = type(getattr(self.model, "distribute_strategy", None)).__name__
        if strategy not in ("NoneType", "_DefaultDistributionStrategy"):
            raise CannotFix(f"the model is trained by a {strategy}")

    def for_training(self, **values: Any) -> None:
        """Set attributes of the model while its train function is made, so that they
        hold for nothing but training: `evaluate` and `predict` stay as they are."""
        self.made.append(self.set(self.model, **values))

    def train_function(self) -> Any:
        """The model's train function, made anew with all that was asked for."""
        try:
            self.model.make_train_function(force=True)
        finally:
            while self.made:
                self.made.pop()()
        train = self.model.train_function
        for around in self.around:
            train = around(train)
        return train

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
