"""Keras counts the steps of a launch; the train function makes them. They must agree.

With several steps in a launch, Keras' iterator over epochs goes on by that number for
every call of the model's train function. A callback of the user's may put another
train function there, which makes one step a call: `make_train_function(force=True)`
after layers were unfrozen, for one. So before every call the function is looked at,
and one that is not ours is called once for every step that Keras counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from feedline.job import marks
from feedline.job.private import keras as keras_private

Undo = Callable[[], None]


def guarded(model: Any, epochs: Any, steps: int, say: Callable[[], None]) -> Undo:
    """Let Keras count so many steps for each call in this fit, whatever train function
    the model comes to have; `say` is called when that is not ours any more. How to
    undo it comes back."""
    kind, before = type(epochs), epochs.steps_per_execution

    class Guarded(kind):  # type: ignore[misc, valid-type]
        def __next__(self) -> Any:
            found = super().__next__()
            train = model.train_function
            if train is not None and steps_of(train) is None:
                say()
                model.train_function = _one_by_one(train, self, steps)
            return found

    Guarded.__name__, Guarded.__qualname__ = kind.__name__, kind.__qualname__
    epochs.__class__ = Guarded
    epochs.steps_per_execution = steps

    def undo() -> None:
        epochs.__class__ = kind
        epochs.steps_per_execution = before

    return undo


def steps_of(train: Any) -> int | None:
    """How many steps a train function makes in a call, where it is ours."""
    while train is not None:
        steps: int | None = getattr(train, marks.STEPS, None)
        if steps is not None:
            return steps
        train = getattr(train, marks.ORIGINAL, None)
    return None


def _one_by_one(train: Callable[[Any], Any], epochs: Any, steps: int) -> Any:
    """A train function that makes one step, called as often as Keras counts, but
    never where there are no data: Keras knows how many batches there are."""

    def several(iterator: Any) -> Any:
        left = steps  # a launch divides `steps_per_epoch`
        if not epochs.steps_per_epoch:
            left = epochs.num_batches - (keras_private.steps_seen(epochs) - steps)
        logs = None
        for _ in range(max(1, min(steps, left))):
            logs = train(iterator)
        return logs

    setattr(several, marks.STEPS, steps)
    setattr(several, marks.ORIGINAL, train)
    return several
