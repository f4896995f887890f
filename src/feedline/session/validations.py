"""The validation of a fit under `feedline run`: measured, cured, and watched.

Just before its first pass, when Keras has made of `validation_data` what it will read
in every pass, the same is done as for the training before its first step: a copy is
measured with the model's own test step, what is proved and measured faster is put in,
and everything else is as it was. Where nothing may be tried the passes are watched as
they are made (`passes.py`), and what needs no trial is used at once.

A pass is worth no experiment by itself: only the passes that are left can repay it.
"""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any

from feedline import fixes
from feedline.errors import CannotPutBack, FeedlineError
from feedline.fixes.binding import Binding
from feedline.fixes.fix import AtOnce, CannotFix, Edit
from feedline.fixes.plan import Outcome, Plan, Trial
from feedline.fixes.saved import SavedPlan
from feedline.job import marks
from feedline.job.private import keras as keras_private
from feedline.job.private import tensorflow as tf_private
from feedline.job.tfdata.pipeline import Pipeline
from feedline.measure.measurement import ValidationTimes
from feedline.prove.bound import bound
from feedline.prove.proof import Cured
from feedline.session.memory import Remembered
from feedline.session.passes import Passes
from feedline.session.plans import refusal
from feedline.session.worth import Budget, TooShort

if TYPE_CHECKING:
    from feedline.session.runner import Runner

log = logging.getLogger(__name__)

_LEAST_PASSES = 2
_MOSTLY = 0.8
_JUDGED = 2  # passes after which an edit without a trial must have paid


@dataclass
class _Validation:
    """Of one fit. `times` are by experiment; `own_s` is what a pass took without the
    fixes, 0 where nobody knows; `before` is what Keras read then, where it may read
    that again; `live` are edits that were used without a trial."""

    passes: Passes
    begun: bool = False
    data: Any = None
    before: Any = None
    own_s: float = 0.0
    helped: bool = False
    pace: Any = None
    live: tuple[AtOnce, ...] = ()
    counts: tuple[int, int] = (0, 0)
    lost: bool = False
    times: ValidationTimes | None = None
    cured: Cured | None = None
    why_not: str = ""


class Validations:
    """Of all fits of a run. `validations` and `seconds` are the passes with fixes."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.plan: SavedPlan | None = None  # made or recalled
        self.passes = 0
        self.seconds = 0.0
        self._fits: dict[int, _Validation] = {}
        self._plans: list[tuple[SavedPlan, float]] = []  # and a pass without it

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
        if fit.live and not fit.lost:
            seen.helped = self._mostly_found(fit)
            self._judge(fit)
        if seen.helped and fit.own_s:
            self.passes += 1
            self.seconds += seen.seconds

    def over(self, loop: Any) -> None:
        """The fit is."""
        if id(loop) in self._fits:
            self._fits[id(loop)].passes.close()

    def _of(self, loop: Any) -> _Validation:
        if id(loop) not in self._fits:
            watch = self.runner.watch
            made = Passes(self.runner.clock, lambda: watch.tracing_seconds)
            self._fits[id(loop)] = _Validation(made)
        return self._fits[id(loop)]

    # ------------------------------------------------------------- what was found

    def known(self, loop: Any) -> tuple[ValidationTimes | None, Cured | None, str]:
        """What the validation of this fit costs, what was proved for it, and why
        nothing was tried, if so."""
        from feedline.measure.validation import in_passing

        fit = self._fits.get(id(loop))
        if fit is None or loop.validation is None:
            return None, None, ""
        times = fit.times or in_passing(fit.passes.made)
        if times is None:
            return None, None, fit.why_not
        told, epochs = loop.validation, fit.passes.epochs
        where = getattr(fit.data, marks.WHERE, None)
        times = replace(
            times,
            passes=told.passes,
            every=told.every,
            epoch_s=median(epochs[1:] or epochs) if epochs else None,
            data=told.kind,
            where=where or loop.where,
        )
        return times, fit.cured or _cured(fit), fit.why_not

    # --------------------------------------------------------------- the first pass

    def _first(self, loop: Any, iterator: Any, fit: _Validation) -> None:
        import tensorflow as tf

        from feedline.session.validation_trial import as_far_as_read, why_not_cut

        runner = self.runner
        distributed = keras_private.distributed_dataset(iterator)
        source = tf_private.original_dataset.get(distributed, distributed)
        fit.data = source
        passes = loop.validation.passes
        if not isinstance(source, tf.data.Dataset) or not runner.watch_chooses(loop):
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
        edits, own_s = self._edits_for(loop, now, passes)
        if edits is None:
            from feedline.session.validation_bench import why_not

            fit.why_not = why_not(loop.model, pipeline, loop.strategy)
            if fit.why_not:
                self._at_once(loop, iterator, fit, pipeline)
                return
            edits = self._tune(loop, fit, data, pipeline, now)
            own_s = fit.times.seconds if fit.times is not None else 0.0
        if edits:
            self._apply(loop, iterator, fit, data, edits)
            fit.own_s = own_s

    def _edits_for(
        self, loop: Any, now: Binding, passes: int | None
    ) -> tuple[tuple[Edit, ...] | None, float]:
        """The edits that are known for this validation, and what a pass took without
        them; None where it is to be measured."""
        runner, where = self.runner, _where(loop)
        for plan, own_s in self._plans:
            if plan.where == where and refusal(plan, now) is None:
                return plan.edits, own_s
        if runner.given is not None:
            given = runner.given.validation
            if given is None or given.where != where or refusal(given, now) is not None:
                return (), 0.0
            return given.edits, 0.0
        for known in runner.order.remembered:
            if known.plan.where != where:
                continue
            reason = refusal(known.plan, now)
            seconds = self._worth(passes, known)
            if reason is None and known.is_final(seconds):
                self._reuse(known.plan, where)
                return known.plan.edits, known.step_ms / 1e3
            if reason is not None:
                runner.outdated(where, reason)
        return None, 0.0

    def _worth(self, passes: int | None, known: Remembered) -> float:
        """How long it would be measured now. (Of a validation a pass is remembered, and
        not a step.)"""
        order = self.runner.order
        if order.given:
            return order.seconds
        with suppress(TooShort):
            training_s = None if passes is None else passes * known.step_ms / 1e3
            return Budget(order.seconds).for_training(training_s)
        return 0.0

    def _reuse(self, plan: SavedPlan, where: str) -> None:
        self.plan = plan
        if plan.edits:
            self.runner.say(
                f"applying {_names(plan.edits)} to the {where}, as an earlier run "
                "found (--fresh measures again)"
            )

    # ------------------------------------------------------------------- measuring

    def _tune(
        self,
        loop: Any,
        fit: _Validation,
        data: Any,
        pipeline: Pipeline,
        now: Binding,
    ) -> tuple[Edit, ...]:
        runner, where = self.runner, _where(loop)
        if not runner.may_look(where):
            return ()
        seconds = runner.seconds_for_validation()
        began = time.perf_counter()
        try:
            found = self._examined(loop, data, pipeline, seconds)
        except TooShort:
            runner.looked(where, time.perf_counter() - began)
            return ()
        except (CannotPutBack, FeedlineError) as reason:
            fit.why_not = str(reason)
            return ()
        finally:
            runner.measuring_s += time.perf_counter() - began
        fit.times, fit.cured = found
        edits = fit.cured.edits
        self.plan = SavedPlan(
            where, now.pipeline, edits, grades=fit.cured.plan.grades, made_for=now
        )
        self._plans.append((self.plan, fit.times.seconds))
        spent_s = time.perf_counter() - began
        runner.remember(Remembered(self.plan, spent_s, 1e3 * fit.times.seconds))
        runner.say(f"{where}: {_took(fit.times)}; {_doing(edits)}")
        return edits

    def _examined(
        self, loop: Any, data: Any, pipeline: Pipeline, seconds: float
    ) -> tuple[ValidationTimes, Cured]:
        """Raises `TooShort` where the passes that are left could not repay it."""
        from feedline.session.validation_trial import examine_and_cure

        runner = self.runner
        return examine_and_cure(
            loop,
            data,
            pipeline,
            runner.allowed,
            Budget(seconds, runner.order.given),
            read_already=list(runner.watch.read_already),
            say=runner.say,
            budgeted=lambda s: runner.say(
                f"measuring the {_where(loop)}, at most {s:.3g} s"
            ),
        )

    # ----------------------------------------------------------- putting in and out

    def _apply(
        self,
        loop: Any,
        iterator: Any,
        fit: _Validation,
        data: Any,
        edits: tuple[Edit, ...],
    ) -> None:
        from feedline.job.loops.pace import Pace
        from feedline.session import stand_ins

        tuned = self.runner.applied.tuned(data, edits)
        before = keras_private.distributed_dataset(iterator)
        strategy = loop.model.distribute_strategy
        keras_private.distributed_dataset.set(
            iterator, strategy.experimental_distribute_dataset(tuned)
        )
        fit.before = before if stand_ins.may_go_back(data) else None
        fit.data, fit.helped, fit.pace = data, True, Pace(self.runner.clock)

    def _take_out_if_slower(self, loop: Any, iterator: Any, fit: _Validation) -> None:
        """A fix was proved to be faster; where it no longer is, it goes."""
        from feedline.session import stand_ins

        if fit.pace is None or fit.before is None or not fit.pace.epochs:
            return
        own_ms = 1e3 * fit.own_s / max(fit.pace.epochs[-1][0], 1)
        if fit.pace.slower_than(own_ms) is None:
            return
        _, took = fit.pace.epochs[-1]
        keras_private.distributed_dataset.set(iterator, fit.before)
        stand_ins.go_back(fit.data)
        fit.helped, fit.pace, fit.before = False, None, None
        where = _where(loop)
        if self.plan is not None and self.plan.where == where:
            nothing = replace(self.plan, edits=(), places=(), grades=())
            self.plan = nothing
            self._plans = [each for each in self._plans if each[0].where != where]
            self.runner.remember(Remembered(nothing, self.runner.order.seconds))
        self.runner.say(
            f"the {where} takes {took:.3g} s with the fixes, more than without: they "
            "are removed"
        )

    # -------------------------------------------------------------- without a trial

    def _at_once(
        self, loop: Any, iterator: Any, fit: _Validation, pipeline: Pipeline
    ) -> None:
        """What needs no trial, where nothing may be tried."""
        found = fixes.at_once(pipeline) if loop.strategy is None else []
        if not found or self.runner.given is not None:
            return
        edits = tuple(each.proposal.edit for each in found)
        try:
            self._apply(loop, iterator, fit, fit.data, edits)
        except (CannotFix, FeedlineError) as reason:
            log.info("nothing at once: %s", reason)
            return
        fit.live, fit.pace, fit.helped = tuple(found), None, False
        self.runner.say(
            f"applying {_names(edits)} to the {_where(loop)} without a trial: "
            f"{fit.why_not}"
        )

    def _mostly_found(self, fit: _Validation) -> bool:
        """Did the edits save most of the work in the pass that is over?"""
        both = [each.counts() for each in fit.live]
        found, made = sum(f for f, _ in both), sum(m for _, m in both)
        before, fit.counts = fit.counts, (found, made)
        found, made = found - before[0], made - before[1]
        return found > _MOSTLY * (found + made)

    def _judge(self, fit: _Validation) -> None:
        """Where they do not make the passes shorter, they stop."""
        helped = [each.seconds for each in fit.passes.made if each.helped]
        own = [each.seconds for each in fit.passes.made if not each.helped]
        if own:
            fit.own_s = median(own)
        if len(helped) == _JUDGED and own and median(helped) >= median(own):
            fit.lost = True
            for each in fit.live:
                each.stop()
            names = _names(tuple(each.proposal.edit for each in fit.live))
            self.runner.say(f"removed {names}: the validation did not get faster")


def _cured(fit: _Validation) -> Cured | None:
    """What the edits without a trial came to."""
    helped = [each.seconds for each in fit.passes.made if each.helped]
    own = [each.seconds for each in fit.passes.made if not each.helped]
    if not fit.live or not helped or not own:
        return None
    from feedline.measure.experiment import estimate
    from feedline.measure.measurement import Estimate

    before, after = estimate(own), estimate(helped)
    gain = Estimate(
        before.value / max(after.value, 1e-9),
        before.low / max(after.high, 1e-9),
        before.high / max(after.low, 1e-9),
    )
    trials = tuple(
        Trial(
            each.proposal,
            None,
            Outcome(not fit.lost, each.proposal.grade, gain, each.came_to()),
        )
        for each in fit.live
    )
    edits = () if fit.lost else tuple(each.proposal.edit for each in fit.live)
    return Cured(Plan(edits, trials))


def _where(loop: Any) -> str:
    return validation_of(loop.where)


def validation_of(where: Any) -> str:
    """What stands in a plan in the place of a loop's line."""
    return f"validation of {where}"


def _names(edits: tuple[Edit, ...]) -> str:
    return ", ".join(edit.fix for edit in edits)


def _took(times: ValidationTimes) -> str:
    waits = ""
    if times.input_s is not None:
        waits = f", {times.input_s:.1f} s of it waiting for its input"
    return f"a pass takes {times.seconds:.1f} s{waits}"


def _doing(edits: tuple[Edit, ...]) -> str:
    return f"applying {_names(edits)}" if edits else "no allowed fix made it faster"
