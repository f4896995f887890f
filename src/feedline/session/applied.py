"""A plan's edits in the live job of a script, under `feedline run`: what Keras or a
loop of the script's own reads instead, what is put into the model and taken out again,
and what it all came to. Which edits, and whether, is not decided here.

TensorFlow is the script's to load: nothing here imports it before that.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

from feedline.fixes.fix import Edit
from feedline.measure.measurement import WAITED_S

_WORTH_TELLING_S = 1.0


class Training:
    """A fit with edits, from its first step on."""

    def __init__(self, model: Any, undo: Callable[[], None]) -> None:
        self.undo = undo
        self.model = model
        self.began = time.perf_counter()
        self.first = self._iterations()

    def _iterations(self) -> int:
        return int(self.model.optimizer.iterations.numpy())

    def so_far(self) -> tuple[int, float]:
        return self._iterations() - self.first, time.perf_counter() - self.began


class Applied:
    """`steps` and `seconds` are those of all fits with edits that are over."""

    def __init__(self, say: Callable[[str], None] = lambda _: None) -> None:
        self.say = say
        self.steps = 0
        self.seconds = 0.0
        self.replaces = False  # is any dataset read in another's place?
        self._training: dict[int, Training] = {}
        self._open = ExitStack()
        self._gone: list[float] | None = None

    # ------------------------------------------------------------------- a fit

    def to_fit(self, loop: Any, epochs: Any, edits: tuple[Edit, ...]) -> None:
        """Just before its first step."""
        from feedline import fixes
        from feedline.fixes.target import Target
        from feedline.job.tfdata.read import read
        from feedline.session.cure import install, step_edits

        if not edits:
            return
        undo: Callable[[], None] = lambda: None  # noqa: E731
        steps = step_edits(edits)
        if steps:
            pipeline = read(loop.source).numbered()
            target = Target(
                loop.model,
                epochs,
                pipeline,
                replaced=self._train_function_replaced,
                callbacks=loop.callbacks,
            )
            undo = install(target, steps)
        if any(fixes.all()[edit.fix].apply is not None for edit in edits):
            try:
                self.swap(loop, epochs, edits)
            except BaseException:
                undo()
                raise
        self._training[id(loop)] = Training(loop.model, undo)

    def swap(self, loop: Any, epochs: Any, edits: tuple[Edit, ...] = ()) -> None:
        """Let Keras read the tuned dataset, with these edits if it is not made yet."""
        tuned = self.tuned(loop.source, edits)
        strategy = loop.model.distribute_strategy
        distributed = strategy.experimental_distribute_dataset(tuned)
        if loop.strategy is not None:
            # Keras has taken one batch already, to see what it looks like: the
            # shuffles of the new dataset must have gone as far.
            next(iter(distributed))
        epochs._distributed_dataset = distributed
        loop.dataset = distributed

    def _train_function_replaced(self) -> None:
        self.say(
            "the script rebuilt the model's train function; from here on its steps are "
            "launched one by one"
        )

    def fit_is_over(self, loop: Any) -> None:
        training = self._training.pop(id(loop), None)
        if training is not None:
            steps, seconds = training.so_far()
            self.steps += steps
            self.seconds += seconds
            training.undo()

    # ---------------------------------------------------------------- what is read

    def tuned(self, dataset: Any, edits: tuple[Edit, ...]) -> Any:
        """What is read in this dataset's place from now on."""
        from feedline.session import stand_ins

        tuned = stand_ins.tuned(dataset, edits)
        self.replaces = True
        return tuned

    def instead_of(self, dataset: Any) -> Any | None:
        """What is read in this dataset's place, if anything is."""
        if not self.replaces or not hasattr(dataset, "_variant_tensor"):
            return None
        from feedline.session import stand_ins

        return stand_ins.instead_of(dataset)

    # ------------------------------------------------------- the ends of its passes

    def let_go(self, dataset: Any) -> None:
        """An iterator over it is about to be made: from the first one on, none of
        them is waited for when it goes. Whatever fails costs no more than that."""
        from feedline.job.loops.drop_iterator import look, unseen, without_waiting
        from feedline.measure.machine import memory

        with suppress(Exception):
            look(dataset, memory()[1] / 4)
            if self._gone is None:
                going = without_waiting(unseen, longest=None)
                self._gone = self._open.enter_context(going)

    def close(self) -> str:
        """What the training did not wait for, as a sentence, if it is worth one."""
        with suppress(Exception):
            self._open.close()
        waits = [each for each in self._gone or () if each > WAITED_S]
        if sum(waits) < _WORTH_TELLING_S:
            return ""
        return (
            f"saved {sum(waits):.1f} s: {len(waits)} epochs would have waited for "
            "tf.data's AUTOTUNE thread to stop"
        )
