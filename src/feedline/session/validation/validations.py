"""The validation of a fit under `feedline run`: measured, cured, and watched.

Just before its first pass, when Keras has made of `validation_data` what it will read
in every pass, the same is done as for the training before its first step: a copy is
measured with the model's own test step, what is proved and measured faster is put in
(`edits.py`), and everything else is as it was. Where nothing may be tried the passes
are watched as they are made (`passes.py`), and what needs no trial is used at once.

A pass is worth no experiment by itself: only the passes that are left can repay it.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from feedline import fixes
from feedline.errors import FeedlineError
from feedline.fixes.fix import CannotFix, Edit
from feedline.job.loops.snapshot import python_beside
from feedline.job.private import keras as keras_private
from feedline.job.private import tensorflow as tf_private
from feedline.job.tfdata.pipeline import Pipeline
from feedline.prove.bound import bound
from feedline.session.plans.without_trial import WithoutTrial
from feedline.session.validation.edits import Edits, where_of
from feedline.session.validation.one_fit import OneFit
from feedline.session.validation.passes import Passes

if TYPE_CHECKING:
    from feedline.fixes.saved import SavedPlan
    from feedline.measure.measurement import ValidationTimes
    from feedline.prove.proof import Cured
    from feedline.session.run.runner import Runner

log = logging.getLogger(__name__)

_LEAST_PASSES = 2


class Validations:
    """Of all fits of a run. `passes` and `seconds` are those with fixes."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.passes = 0
        self.seconds = 0.0
        self._edits = Edits(runner)
        self._fits: dict[int, OneFit] = {}

    @property
    def plan(self) -> SavedPlan | None:
        return self._edits.plan

    def known(self, loop: Any) -> tuple[ValidationTimes | None, Cured | None, str]:
        """What the validation of this fit costs, what was proved for it, and why
        nothing was tried, if so."""
        fit = self._fits.get(id(loop))
        if fit is None or loop.validation is None:
            return None, None, ""
        return fit.known(loop)

    # ------------------------------------------------------- what the watch tells

    def epoch_begins(self, loop: Any) -> None:
        if loop.validation is not None:
            self._of(loop).passes.epoch_begins()

    def begins(self, loop: Any, iterator: Any) -> None:
        """Keras is about to make a pass over what `iterator` reads."""
        fit = self._of(loop)
        fit.passes.training_is_over()
        try:
            with self.runner.watch.pause():
                if not fit.begun:
                    fit.begun = True
                    self._first(loop, iterator, fit)
                else:
                    self._take_out_if_slower(loop, iterator, fit)
        except Exception as error:  # it costs the fixes, not the validation
            log.info("the validation is left unchanged", exc_info=True)
            fit.why_not = str(error)
        steps = iterator.num_batches
        fit.passes.begins(
            loop.model, None if steps is None else int(steps), helped=fit.helped
        )
        if fit.pace is not None:
            fit.pace.begins()

    def ends(self, loop: Any, _: Any) -> None:
        fit = self._of(loop)
        seen = fit.passes.ends()
        if seen is None:
            return
        if fit.pace is not None:
            fit.pace.ends(seen.steps)
            fit.pace.epoch_is_over()
        if fit.live.in_force and fit.judge(seen):
            names = fit.live.names
            self.runner.say(f"removed {names}: the validation did not get faster")
        if seen.helped and fit.own_s:
            self.passes += 1
            self.seconds += seen.seconds

    def over(self, loop: Any) -> None:
        """The fit is."""
        if id(loop) in self._fits:
            self._fits[id(loop)].over()

    def _of(self, loop: Any) -> OneFit:
        if id(loop) not in self._fits:
            watch = self.runner.watch
            made = Passes(self.runner.clock, lambda: watch.tracing_seconds)
            self._fits[id(loop)] = OneFit(made)
        return self._fits[id(loop)]

    # --------------------------------------------------------------- the first pass

    def _first(self, loop: Any, iterator: Any, fit: OneFit) -> None:
        import tensorflow as tf

        from feedline.session.validation.trial import as_far_as_read, why_not_cut

        runner = self.runner
        distributed = keras_private.distributed_dataset(iterator)
        source = tf_private.original_dataset.get(distributed, distributed)
        fit.data = source
        passes = loop.validation.passes
        if not isinstance(source, tf.data.Dataset) or not runner.was_wanted(loop):
            return
        if passes is not None and passes < _LEAST_PASSES:
            return
        if runner.applied.instead_of(source) is not None:
            fit.helped = True  # read with edits already
            return
        data = as_far_as_read(source, loop)
        pipeline = runner.pipeline_of(data)
        fit.why_not = why_not_cut(source, loop)
        if pipeline is None or fit.why_not:
            return
        now = bound(pipeline)
        edits, own_s = self._edits.known(loop, now)
        if edits is None:
            from feedline.session.validation.bench import why_not

            fit.why_not = _read_beside(loop) or why_not(
                loop.model, pipeline, loop.strategy
            )
            if fit.why_not:
                self._at_once(loop, iterator, fit, pipeline)
                return
            edits = self._edits.measured(loop, fit, data, pipeline, now)
            own_s = fit.times.seconds if fit.times is not None else 0.0
        if edits:
            self._apply(loop, iterator, fit, data, edits)
            fit.own_s = own_s

    def _at_once(
        self, loop: Any, iterator: Any, fit: OneFit, pipeline: Pipeline
    ) -> None:
        """What needs no trial, where nothing may be tried."""
        found = fixes.at_once(pipeline) if loop.strategy is None else []
        if not found or self.runner.plans.given is not None:
            return
        live = WithoutTrial(tuple(found))
        try:
            self._apply(loop, iterator, fit, fit.data, live.edits)
        except (CannotFix, FeedlineError) as reason:
            log.info("nothing at once: %s", reason)
            return
        fit.live, fit.pace, fit.helped = live, None, False
        self.runner.say(
            f"applying {live.names} to the {where_of(loop)} without a trial: "
            f"{fit.why_not}"
        )

    # ----------------------------------------------------------- putting in and out

    def _apply(
        self,
        loop: Any,
        iterator: Any,
        fit: OneFit,
        data: Any,
        edits: tuple[Edit, ...],
    ) -> None:
        from feedline.job.loops.pace import Pace
        from feedline.session.plans import stand_ins

        tuned = self.runner.applied.tuned(data, edits)
        before = keras_private.distributed_dataset(iterator)
        strategy = loop.model.distribute_strategy
        keras_private.distributed_dataset.set(
            iterator, strategy.experimental_distribute_dataset(tuned)
        )
        fit.before = before if stand_ins.may_go_back(data) else None
        fit.data, fit.helped, fit.pace = data, True, Pace(self.runner.clock)

    def _take_out_if_slower(self, loop: Any, iterator: Any, fit: OneFit) -> None:
        """A fix was proved to be faster; where it no longer is, it goes."""
        from feedline.session.plans import stand_ins

        if fit.pace is None or fit.before is None or not fit.pace.epochs:
            return
        own_ms = 1e3 * fit.own_s / max(fit.pace.epochs[-1][0], 1)
        if fit.pace.slower_than(own_ms) is None:
            return
        _, took = fit.pace.epochs[-1]
        keras_private.distributed_dataset.set(iterator, fit.before)
        stand_ins.go_back(fit.data)
        fit.helped, fit.pace, fit.before = False, None, None
        self._edits.taken_out(loop)
        self.runner.say(
            f"the {where_of(loop)} takes {took:.3g} s with the fixes, more than "
            "without: they are removed"
        )


def _read_beside(loop: Any) -> str:
    """Why nothing may be tried while the training's own data is open; else empty: what
    its Python draws in that time could not be told from what is put back."""
    if loop.restarts or not python_beside(loop.source):
        return ""
    return "the Python in the training's data runs on meanwhile, and may draw"
