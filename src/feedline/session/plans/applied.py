"""A plan's edits in the live job of a script, under `feedline run`: what Keras or a
loop of the script's own reads instead, what is put into the model and taken out again,
and what it all came to. Which edits, and whether, is not decided here.

TensorFlow is the script's to load: nothing here imports it before that.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

from feedline.fixes.fix import Edit
from feedline.job.loops.pace import Pace
from feedline.job.private import keras as keras_private
from feedline.job.private import tensorflow as tf_private
from feedline.measure.measurement import WAITED_S

_WORTH_TELLING_S = 1.0


class Training:
    """A fit with edits, from its first step on. `step_ms` is what its own step took
    without them, 0 where nobody knows."""

    def __init__(
        self,
        loop: Any,
        undo: Callable[[], None],
        before: Any,
        step_ms: float,
        *,
        in_step: bool,
    ) -> None:
        self.undo = undo
        self.before = before  # what Keras read before, where it may read that again
        self.in_step = in_step  # is anything put into the model?
        self.step_ms = step_ms
        self._model, self._pace = loop.model, loop.pace
        self._first = self._iterations()

    def _iterations(self) -> int:
        return int(self._model.optimizer.iterations.numpy())

    def so_far(self) -> tuple[int, float]:
        self._pace.epoch_is_over()
        return self._iterations() - self._first, self._pace.so_far[1]

    def slower(self) -> float | None:
        """The milliseconds of a step, where that is more than it was without us."""
        self._pace.epoch_is_over()
        took: float | None = self._pace.slower_than(self.step_ms)
        return took


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

    def to_fit(
        self, loop: Any, epochs: Any, edits: tuple[Edit, ...], step_ms: float = 0.0
    ) -> None:
        """Just before its first step, which took `step_ms` without them."""
        from feedline import fixes
        from feedline.fixes.target import Target
        from feedline.job.tfdata.read import read
        from feedline.session.step_edits import install, step_edits

        if not edits:
            return
        undo: Callable[[], None] = lambda: None  # noqa: E731
        before = keras_private.distributed_dataset(epochs)
        steps = step_edits(edits)
        if steps:
            pipeline = read(loop.source).numbered()
            target = Target(
                loop.model,
                epochs,
                pipeline,
                replaced=self._train_function_replaced,
                callbacks=loop.callbacks,
                tell=self.say,
            )
            undo = install(target, steps)
        if any(fixes.all()[edit.fix].apply is not None for edit in edits):
            try:
                self.swap(loop, epochs, edits)
            except BaseException:
                undo()
                raise
            if not loop.restarts or not self._may_go_back(loop.source):
                before = None
        loop.pace = Pace(loop.clock)
        self._training[id(loop)] = Training(
            loop, undo, before, step_ms, in_step=bool(steps)
        )

    def _may_go_back(self, dataset: Any) -> bool:
        from feedline.session.plans import stand_ins

        return stand_ins.may_go_back(dataset)

    def take_off_if_slower(self, loop: Any, fits: Any) -> bool:
        """Between two epochs. A fix was proved to be faster; where it no longer is, it
        goes, as far as that leaves the data as they are."""
        training = self._training.get(id(loop))
        took = None if training is None else training.slower()
        if training is None or took is None:
            return False
        own_ms, training.step_ms = training.step_ms, 0.0
        if training.before is None and not training.in_step:
            return False
        fits.change_back(loop, training.undo)
        training.undo = lambda: None
        what = "the fixes are"
        if training.before is None:
            what = "those of the step are"
        else:
            from feedline.session.plans import stand_ins

            keras_private.distributed_dataset.set(fits.epochs, training.before)
            loop.dataset = training.before
            stand_ins.go_back(loop.source)
        self.say(
            f"a step takes {took:.3g} ms with the fixes and took {own_ms:.3g} ms "
            f"without: {what} removed"
        )
        return True

    def swap(self, loop: Any, epochs: Any, edits: tuple[Edit, ...] = ()) -> None:
        """Let Keras read the tuned dataset, with these edits if it is not made yet."""
        tuned = self.tuned(loop.source, edits)
        strategy = loop.model.distribute_strategy
        distributed = strategy.experimental_distribute_dataset(tuned)
        if loop.strategy is not None:
            # Keras has taken one batch already, to see what it looks like: the
            # shuffles of the new dataset must have gone as far.
            next(iter(distributed))
        keras_private.distributed_dataset.set(epochs, distributed)
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
        from feedline.session.plans import stand_ins

        tuned = stand_ins.tuned(dataset, edits)
        self.replaces = True
        return tuned

    def instead_of(self, dataset: Any) -> Any | None:
        """What is read in this dataset's place, if anything is."""
        if not self.replaces or not tf_private.variant_tensor.on(dataset):
            return None
        from feedline.session.plans import stand_ins

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
        times = f"{len(waits)} times" if len(waits) > 1 else "once"
        return (
            f"tf.data's AUTOTUNE thread took its time to stop {times}, "
            f"{sum(waits):.1f} s in all; your script did not wait for it"
        )
