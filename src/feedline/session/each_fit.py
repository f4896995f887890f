"""Several steps in one launch in every `fit` of a model, for `feedline.tune`.

How many steps an epoch has is known only when `fit` is called. Its `fit` then looks,
each time: the launches must come out even with `steps_per_epoch`, nobody may listen to
single batches, and the model must still be the one that was compiled. Otherwise, and
everywhere but in training, the model works as it did.
"""

from __future__ import annotations

import functools
import inspect
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from feedline.fixes.step.steps_per_execution import fitting, launched
from feedline.job import marks
from feedline.job.loops.launches import guarded
from feedline.job.script.fits import hear_batches

log = logging.getLogger(__name__)


def in_each_fit(model: Any, most: int) -> None:
    """Give the model a `fit` that launches up to so many steps at once."""
    fit = getattr(model.fit, marks.ORIGINAL, model.fit)
    signature = inspect.signature(fit)
    single = model.train_function
    made: dict[int, Callable[[Any], Any]] = {}

    def told(epochs: Any) -> None:
        own = model.train_function is single and model.steps_per_execution == 1
        steps = fitting(most, epochs) if own else 1
        if steps == 1:
            return
        if steps not in made:
            model.make_train_function(force=True)
            made[steps] = launched(model, steps, model.train_function)
        model.train_function = made[steps]
        guarded(model, epochs, steps, lambda: None)

    @functools.wraps(fit)
    def launching(*args: Any, **kwargs: Any) -> Any:
        try:
            heard = hear_batches(signature.bind(*args, **kwargs).arguments["callbacks"])
        except (TypeError, KeyError):  # Keras says best what is wrong
            heard = ()
        if heard:
            return fit(*args, **kwargs)
        try:
            with _first_epochs(told):
                return fit(*args, **kwargs)
        finally:
            if model.train_function in made.values():
                model.train_function = single
            while hasattr(model.train_function, marks.ORIGINAL):
                model.train_function = getattr(model.train_function, marks.ORIGINAL)

    setattr(launching, marks.ORIGINAL, fit)
    model.fit = launching


@contextmanager
def _first_epochs(told: Callable[[Any], None]) -> Iterator[None]:
    """Inside, the first iterator over epochs that Keras makes in this thread is told
    of: that of the training."""
    from feedline.job.private.keras import TFEpochIterator

    original, thread = TFEpochIterator.__init__, threading.get_ident()
    waiting = True

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        nonlocal waiting
        original(self, *args, **kwargs)
        if waiting and threading.get_ident() == thread:
            waiting = False
            try:
                told(self)
            except Exception:  # then every step is launched by itself
                log.info("several steps in a launch failed", exc_info=True)

    TFEpochIterator.__init__ = init
    try:
        yield
    finally:
        TFEpochIterator.__init__ = original
