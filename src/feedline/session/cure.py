"""From a measured job to proved fixes: proposals are built, compared, timed.

Walks the second half of the road on a live loop that can be asked for steps:
`fixes` says what may help, `prove` whether the data and the weights stay the same
and whether it is faster. What comes out is a `Cured`: a plan, and what was proved.
Nothing is applied to the job here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from feedline import fixes
from feedline.causes.asking import one_interpreter
from feedline.errors import FeedlineError
from feedline.fixes.fix import CannotFix, Case, Edit, Grade, Proposal
from feedline.fixes.plan import Outcome, Plan, search
from feedline.fixes.target import Target
from feedline.fixes.untried import untried
from feedline.job.job import Job
from feedline.job.loops.base import Loop, Variant
from feedline.job.loops.call import CallLoop
from feedline.job.loops.drop_iterator import without_waiting
from feedline.job.loops.loop import CannotRun, Clock, Experiment, LoopEnded, Run
from feedline.job.loops.python import PythonLoop
from feedline.job.tfdata import owners
from feedline.job.tfdata.read import read
from feedline.job.tfdata.rebuild import rebuild
from feedline.measure.measurement import Measurement
from feedline.prove import faster, same, weights
from feedline.prove.proof import Cured, Faster, Same
from feedline.session.step_edits import installed, step_edits
from feedline.session.worth import worth_trying

log = logging.getLogger(__name__)

_TRIAL_FILL_S = 1.5
_HURRIED_S = 6.0  # leave time for one trial, or two
_PROOF_STEPS = 4
_STARTS = 3
_MORE_S = 4.0
_TURNS = 30
_SHORTEST_TURN_S = 0.1
_LAST_TURN_S = 0.8  # a pipeline that has just begun is slower for a while
# Deterministic operations round otherwise in a graph than eagerly: they prove nothing
# of a step that becomes a graph.
_NOT_REPEATED = (
    "the step does not give the same bits twice in TensorFlow, so its graph cannot be "
    "compared with it; it needs --allow numeric"
)


@dataclass
class Cure:
    """One search for fixes on one loop. `pipeline` is what the loop reads; its
    dataset may be shared with the loop but not with a job that goes on."""

    loop: Loop
    clock: Clock
    seconds: float
    allowed: tuple[Grade, ...]
    say: Callable[[str], None] = lambda _: None
    used: frozenset[int] = frozenset()
    reached: frozenset[int] = frozenset()
    """Stages with a state that the script can read in another way: see owners.py."""
    training_s: float | None = None
    """How long the training takes as it is, where a trial must be worth its time."""
    input_only: bool = False
    """Leave the step alone."""
    _steps: dict[tuple[Edit, ...], tuple[Any, int]] = field(default_factory=dict)

    def search(self, job: Job, measured: Measurement) -> Experiment[Cured]:
        self.until = self.clock.now() + self.seconds
        pipeline = job.pipeline
        if pipeline is None or not pipeline.rereadable:
            return Cured(Plan())
        # The loop's own dataset, read anew: variants share its caches.
        own = read(self.loop.source).numbered()
        self.pipeline, self.measured, self.job = own, measured, job
        self.proofs: dict[tuple[Edit, ...], Same] = {}
        self.measurements: dict[tuple[Edit, ...], Faster] = {}
        self.weight_steps = 0
        known = replace(measured, stages=measured.guessed or measured.stages)
        # However many threads a stage of Python has, one of them runs.
        costs = one_interpreter(job, known).stages
        case = Case(
            job, measured, own, costs, used=self.used, input_only=self.input_only
        )
        with without_waiting():
            try:
                plan = yield from search(
                    case,
                    self.allowed,
                    self._attempt,
                    self._left,
                    self._pays,
                    hurried=self.seconds < _HURRIED_S,
                )
                others = untried(case, self.allowed)
                plan = replace(plan, trials=(*plan.trials, *others))
                return (yield from self._whole(plan))
            finally:
                self.loop.use(None)

    def _left(self) -> float:
        return self.until - self.clock.now()

    def _pays(self, gain: float, already: float) -> bool:
        """Is trying a fix of this gain worth its time, on top of what is kept?"""
        if self.training_s is None:
            return True
        return worth_trying(self.training_s / max(already, 1.0), gain)

    def _whole(self, plan: Plan) -> Experiment[Cured]:
        """The whole plan once more against the job as it was."""
        if not plan.edits:
            return Cured(plan)
        try:
            # A single fix has been measured against the job as it was already, but
            # in short turns.
            known = self.measurements.get(plan.edits)
            if known is not None and self._left() <= _MORE_S:
                after = known
            else:
                self.say("measuring all fixes against the original")
                after = yield from faster.compare(
                    self.loop,
                    None,
                    self._filled(plan.edits),
                    self.clock,
                    seconds=max(self._least(4.0), min(8.0, self._left())),
                    turn=self._turn(_LAST_TURN_S),
                )
        except (CannotFix, FeedlineError, CannotRun, LoopEnded) as error:
            log.info("the plan could not be measured: %s", error)
            return self._begun(plan, "the whole plan could not be measured")
        if known is not None:
            self.measurements[plan.edits] = after
            plan = _measured_as(plan, after)
        if not after.proved:
            return self._begun(plan, "all fixes combined were not measured faster")
        return Cured(plan, after, self._proof(plan.edits), self.weight_steps)

    def _begun(self, plan: Plan, reason: str) -> Cured:
        """What was tried first has been measured against the job as it was, and may
        stay; all that came on top of it goes."""
        found = [
            edits for edits in self.measurements if edits == plan.edits[: len(edits)]
        ]
        kept = max(
            (e for e in found if self.measurements[e].proved), default=(), key=len
        )
        plan = _cut(plan, kept, reason)
        if not kept:
            return Cured(plan)
        return Cured(
            plan, self.measurements[kept], self._proof(kept), self.weight_steps
        )

    def _turn(self, longest: float) -> float:
        """A short budget has short turns: their number makes the interval."""
        return max(_SHORTEST_TURN_S, min(longest, self.seconds / _TURNS))

    def _least(self, usual: float) -> float:
        return min(usual, self.seconds / 4)

    # ------------------------------------------------------------------ trials

    def _attempt(
        self, kept: tuple[Edit, ...], proposals: tuple[Proposal, ...]
    ) -> Experiment[Outcome]:
        names = " and ".join(proposal.edit.fix for proposal in proposals)
        promised = max(
            (proposal.grade for proposal in proposals), key=fixes.GRADES.index
        )
        edits = (*kept, *(proposal.edit for proposal in proposals))
        if starts := self._too_many_starts(edits):
            return Outcome(False, promised, None, starts)
        self.say(f"trying {names}")
        try:
            grade, reason = self._proved(kept, edits, promised)
            if reason:
                return Outcome(False, grade, None, reason)
            before = self._filled(kept) if kept else None
            after = self._filled(edits)
            result = yield from faster.compare(
                self.loop,
                before,
                after,
                self.clock,
                seconds=max(self._least(2.0), min(6.0, self._left() / 3)),
                turn=self._turn(faster.TURN_S),
            )
        except (CannotFix, FeedlineError, CannotRun) as refusal:
            return Outcome(False, promised, None, str(refusal))
        except LoopEnded as ended:
            return Outcome(False, promised, None, f"no more steps: {ended}")
        except Exception as error:  # what cannot be built or run is not applied
            log.info("%s failed", names, exc_info=True)
            return Outcome(False, promised, None, f"{type(error).__name__}: {error}")
        if not kept:
            self.measurements[edits] = result
        reason = "" if result.proved else "not measured faster"
        return Outcome(result.proved, grade, result.gain, reason)

    def _too_many_starts(self, edits: tuple[Edit, ...]) -> str:
        """Why there is no time for a trial: a pipeline whose epoch takes long to start
        is begun to be compared, before and after, and to be timed."""
        live = self.loop.live
        each = live.start_s if live is not None and _pipeline_edits(edits) else 0.0
        if _STARTS * each <= max(self._left(), 0.0):
            return ""
        return (
            f"not tried: each start of an epoch takes {each:.1f} s, and a trial needs "
            f"{_STARTS}; give a larger --seconds"
        )

    def _proved(
        self, kept: tuple[Edit, ...], edits: tuple[Edit, ...], promised: Grade
    ) -> tuple[Grade, str]:
        """The grade that was found, and why it may not be used, if so."""
        grade: Grade = promised
        after = fixes.apply(self.pipeline, _pipeline_edits(edits))
        for stage in owners.lost(self.pipeline, after, self.reached):
            return grade, f"the script can read {stage.label()} in another way"
        if _pipeline_edits(edits) != _pipeline_edits(kept):
            found = self._proof(edits)
            if not found.equal:
                return grade, f"the data would change: {found.difference}"
        alone = step_edits(edits) != step_edits(kept) and not _moves_work(edits)
        if alone:
            found_weights = self._same_weights(edits)
            if not found_weights.repeats and fixes.own_loop(edits).as_graph:
                grade = max(grade, "numeric", key=fixes.GRADES.index)
                if grade not in self.allowed:
                    return grade, _NOT_REPEATED
            if not found_weights.equal:
                grade = max(grade, "numeric", key=fixes.GRADES.index)
                if grade not in self.allowed:
                    return grade, (
                        "the weights differ by "
                        f"{found_weights.largest:.1e} of the largest; it needs "
                        "--allow numeric"
                    )
        return grade, ""

    def _proof(self, edits: tuple[Edit, ...]) -> Same:
        wanted = _pipeline_edits(edits)
        if wanted not in self.proofs:
            order = fixes.compared(wanted)
            self.proofs[wanted] = same.compare(
                self.pipeline,
                fixes.apply(self.pipeline, [_on_host(edit) for edit in wanted]),
                order=order,
                # In another order nothing is proved before an epoch is over.
                seconds=max(
                    self._least(1.0), (0.15 if order == "any" else 0.04) * self.seconds
                ),
            )
        return self.proofs[wanted]

    def _same_weights(self, edits: tuple[Edit, ...]) -> weights.SameWeights:
        loop = self.loop
        if isinstance(loop, PythonLoop):
            found = self._same_own(loop, edits)
            self.weight_steps = max(self.weight_steps, found.steps)
            return found
        assert isinstance(loop, CallLoop)
        call, per_call = self._step(step_edits(edits))
        before = (loop.call, loop.steps_per_call)
        ring = loop.ring(Run("host"))
        spec = loop.live.element_spec if loop.live else None
        dataset = ring.dataset(spec)
        steps = max(_PROOF_STEPS, per_call, loop.steps_per_call)
        found = weights.compare(loop.model, before, (call, per_call), dataset, steps)
        self.weight_steps = max(self.weight_steps, steps)
        return found

    def _same_own(
        self, loop: PythonLoop, edits: tuple[Edit, ...]
    ) -> weights.SameWeights:
        """The step of a loop of the script's own, and several of them together."""
        found = weights.SameWeights(True, 0)
        asked = fixes.own_loop(edits)
        if asked.as_graph:
            found = weights.compare_own(loop.own_step(), fused=asked.fused)
        if asked.steps > 1:
            ring = loop.ring(Run("host"))
            loop.use(self._own_variant(loop, edits, loop.source))
            together = loop.steps_together(len(ring.batches))
            spec = loop.live.element_spec if loop.live else None
            more = weights.compare_together(together, ring, spec)
            loop.use(None)
            found = weights.SameWeights(
                found.equal and more.equal,
                max(found.steps, more.steps),
                max(found.largest, more.largest),
                found.repeats and more.repeats,
            )
        return found

    # ---------------------------------------------------------------- variants

    def _variant(self, edits: tuple[Edit, ...]) -> Variant:
        pipeline = fixes.apply(self.pipeline, [self._for_trial(e) for e in edits])
        dataset = rebuild(pipeline)
        if self.loop.strategy is None and not step_edits(edits):
            return self.loop.offer(dataset)
        if isinstance(self.loop, PythonLoop):
            return self._own_variant(self.loop, edits, dataset)
        call, per_call = self._step(step_edits(edits))
        return self.loop.offer(dataset, call, per_call)

    def _own_variant(
        self, loop: PythonLoop, edits: tuple[Edit, ...], dataset: Any
    ) -> Variant:
        asked = fixes.own_loop(edits)
        if asked.as_graph:
            loop.own_step()  # or say why there is none
        offered = loop.offer(dataset, steps_per_call=asked.steps)
        return replace(offered, as_graph=asked.as_graph, fused=asked.fused)

    def _filled(self, edits: tuple[Edit, ...]) -> Variant:
        """A variant whose caches are full: it is timed in turns with another, and
        what a pass that is broken off has put into a cache is lost."""
        variant = self._variant(edits)
        if any(map(fixes.keeps, edits)):
            until = self.clock.now() + 3 * self._fill_s()
            batches = iter(variant.source)
            for _ in range(round(self._trial_batches()) + 2):
                if next(batches, None) is None or self.clock.now() > until:
                    break
        return variant

    def _for_trial(self, edit: Edit) -> Edit:
        """A cache is tried on a part of the data, so that it is soon full."""
        if not fixes.keeps(edit):
            return edit
        known = [c for c in self.measured.stages if c.index == edit.stage]
        each = known[0].elements_per_batch if known else 1.0
        elements = max(8, round(self._trial_batches() * each))
        return replace(edit, args={**edit.args, "trial": elements})

    def _fill_s(self) -> float:
        return min(_TRIAL_FILL_S, self.seconds / _HURRIED_S)

    def _trial_batches(self) -> float:
        alone = self.measured.step.input_alone
        per_batch = max(alone.value if alone else 1.0, 0.01)
        return max(4.0, 1e3 * self._fill_s() / per_batch)

    def _step(self, edits: tuple[Edit, ...]) -> tuple[Any, int]:
        """The model's step with these edits: a train function of its own, already
        traced, and how many steps a call of it makes."""
        loop = self.loop
        if not edits:
            return loop.call, loop.steps_per_call
        if edits not in self._steps:
            if not isinstance(loop, CallLoop) or loop.model is None:
                raise CannotFix("the step of this loop is the script's own")
            model = loop.model
            spec = loop.live.element_spec if loop.live else None
            if _moves_work(edits):
                fed = iter(rebuild(fixes.apply(self.pipeline, edits)))
            else:
                fed = iter(loop.ring(Run("host")).dataset(spec))
            with installed(Target(model, pipeline=self.pipeline), edits):
                call = model.train_function
                call(fed)
            per_call = max(fixes.own_loop(edits).steps, loop.steps_per_call)
            self._steps[edits] = (call, per_call)
        return self._steps[edits]


def _pipeline_edits(edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    known = fixes.all()
    return tuple(edit for edit in edits if known[edit.fix].apply is not None)


def _moves_work(edits: tuple[Edit, ...]) -> bool:
    """Does a part of the pipeline move into the step?"""
    return any(fixes.all()[edit.fix].kind == "both" for edit in edits)


def _on_host(edit: Edit) -> Edit:
    """What moves into the step is compared where it can be seen: on the host."""
    if fixes.all()[edit.fix].kind != "both":
        return edit
    return replace(edit, args={**edit.args, "host": True})


def _measured_as(plan: Plan, found: Faster) -> Plan:
    """What was applied in one trial, by the newer measurement."""
    return replace(
        plan,
        trials=tuple(
            replace(trial, outcome=replace(trial.outcome, gain=found.gain))
            if trial.applied
            else trial
            for trial in plan.trials
        ),
    )


def _cut(plan: Plan, kept: tuple[Edit, ...], reason: str) -> Plan:
    """Nothing of it is applied but what is kept."""
    return Plan(
        kept,
        tuple(
            replace(trial, outcome=replace(trial.outcome, kept=False, reason=reason))
            if trial.applied and trial.proposal.edit not in kept
            else trial
            for trial in plan.trials
        ),
    )
