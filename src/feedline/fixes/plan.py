"""Which fixes to apply: the search, and what it found, as plain data.

The search predicts before it tries, tries in the order of what is expected, and
keeps only what was measured faster. A change can help only together with
another, so what is not expected to help alone, or did not, is tried once more
together. Trying is somebody else's business: `attempt` is an experiment that says
how it went, and in tests a table of planted truths.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace

from feedline import fixes
from feedline.errors import FeedlineError
from feedline.fixes.fix import CannotFix, Case, Edit, Grade, Proposal
from feedline.job.loops.loop import Experiment
from feedline.measure.measurement import Estimate
from feedline.measure.predict import predict_step

_WORTH_TRYING = 1.02
_FEWEST_TOGETHER = 2
_NO_LOSS = 1.005


@dataclass(frozen=True)
class Outcome:
    """How trying some edits went. `gain` is None where it was not measured;
    `grade` is what was found, which may be less than what was promised."""

    kept: bool
    grade: Grade
    gain: Estimate | None = None
    reason: str = ""


@dataclass(frozen=True)
class Trial:
    """One proposal: what was expected of it, if anything, and what came of it."""

    proposal: Proposal
    predicted: float | None
    outcome: Outcome

    @property
    def applied(self) -> bool:
        return self.outcome.kept


@dataclass(frozen=True)
class Plan:
    """The edits to apply, in order, and all that was tried on the way."""

    edits: tuple[Edit, ...] = ()
    trials: tuple[Trial, ...] = ()

    @property
    def grade(self) -> Grade:
        """The lowest of what is applied."""
        applied = [trial.outcome.grade for trial in self.trials if trial.applied]
        return max(applied, key=fixes.GRADES.index, default="exact")

    @property
    def grades(self) -> tuple[Grade, ...]:
        """What was found of each of the edits."""
        found = [
            (trial.proposal.edit, trial.outcome.grade)
            for trial in self.trials
            if trial.applied
        ]
        return tuple(
            next((grade for known, grade in found if known == edit), "exact")
            for edit in self.edits
        )


Attempt = Callable[[tuple[Edit, ...], tuple[Proposal, ...]], Experiment[Outcome]]
"""Tries proposals on top of the edits that are already kept."""


def search(
    case: Case,
    allowed: tuple[Grade, ...],
    attempt: Attempt,
    time_left: Callable[[], float],
    pays: Callable[[float, float], bool] = lambda _gain, _already: True,
    *,
    hurried: bool = False,
) -> Experiment[Plan]:
    """Try one proposal after the other until none is expected to help by itself;
    then what is left together, with what did not help alone. `pays` says whether an
    expected gain is worth a trial, after what is `already` gained. Where there is no
    time for several trials (`hurried`), the first one is of all that is expected to
    help together."""
    trials: list[Trial] = []
    refused: list[Proposal] = []
    failed: set[str] = set()
    joined_before: set[frozenset[str]] = set()
    step_ms = case.measured.step.ceiling.value
    first_ms = expected_ms(case, step_ms)
    while time_left() > 0:
        open_ = [
            (gain(case, step_ms, proposal), proposal)
            for proposal in fixes.proposals(case, allowed)
            if _key(proposal) not in failed
        ]
        already = first_ms / max(expected_ms(case, step_ms), 1e-9)
        worth = [pair for pair in open_ if pair[0] >= _WORTH_TRYING]
        if worth and not pays(max(gain for gain, _ in worth), already):
            break
        every = [each for _, each in open_]
        joined = _needed(case, step_ms, every, [], allowed) if hurried else None
        alone_later, hurried = hurried, False
        if worth and joined is None:
            predicted, best = max(worth, key=lambda pair: pair[0])
            outcome = yield from attempt(case.edits, (best,))
            _put(trials, Trial(best, predicted, outcome))
            if outcome.kept:
                case, step_ms = advanced(case, step_ms, best)
            else:
                failed.add(_key(best))
                if outcome.gain is not None:  # it works, it just did not help
                    refused.append(best)
            continue
        joined = joined or _needed(case, step_ms, every, [], allowed)
        if joined is None:
            joined = _needed(case, step_ms, every, refused, allowed)
        if joined is None or joined.keys in joined_before:
            break
        if not pays(joined.gain, already):
            break
        joined_before.add(joined.keys)
        outcome = yield from attempt(case.edits, joined.proposals)
        _record(trials, joined, outcome)
        if outcome.kept or not alone_later:
            failed |= joined.keys
        if outcome.kept:
            case, step_ms = joined.case, joined.step_ms
            refused = [each for each in refused if _key(each) not in joined.keys]
    return Plan(case.edits, tuple(trials))


def _put(trials: list[Trial], trial: Trial) -> None:
    """In the place of what was said of the same proposal, if anything was."""
    keys = [_key(each.proposal) for each in trials]
    if (key := _key(trial.proposal)) in keys:
        trials[keys.index(key)] = trial
    else:
        trials.append(trial)


def _record(trials: list[Trial], joined: _Joined, outcome: Outcome) -> None:
    """One trial for each proposal: of one that was refused alone, the last word is
    the trial that kept it."""
    known = {_key(trial.proposal) for trial in trials}
    for proposal in joined.proposals:
        if outcome.kept or _key(proposal) not in known:
            _put(trials, Trial(proposal, joined.gain, outcome))


@dataclass(frozen=True)
class _Joined:
    """Several proposals on top of each other: what is expected of them."""

    proposals: tuple[Proposal, ...]
    case: Case
    step_ms: float
    gain: float

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(map(_key, self.proposals))


def _join(
    case: Case, step_ms: float, wanted: list[Proposal], allowed: tuple[Grade, ...]
) -> _Joined | None:
    """Each is proposed anew on top of those before it, so that its costs are
    theirs too; what does not go with them is left out. None where fewer than two
    remain."""
    before = expected_ms(case, step_ms)
    joined: list[Proposal] = []
    for proposal in wanted:
        fresh = [p for p in fixes.proposals(case, allowed) if p.edit == proposal.edit]
        try:
            for each in fresh:
                case, step_ms = advanced(case, step_ms, each)
                joined.append(each)
        except (CannotFix, FeedlineError):
            continue
    if len(joined) < _FEWEST_TOGETHER:
        return None
    after = max(expected_ms(case, step_ms), 1e-9)
    return _Joined(tuple(joined), case, step_ms, before / after)


def _needed(
    case: Case,
    step_ms: float,
    left: list[Proposal],
    refused: list[Proposal],
    allowed: tuple[Grade, ...],
) -> _Joined | None:
    """Two parts that are equally slow hide each other: widening either alone gains
    nothing. So where no proposal is expected to help by itself, all that are left are
    looked at together, and those taken out again without which it is as good. What
    was refused alone stays in: of it the prediction was wrong."""
    best = _join(case, step_ms, [*left, *refused], allowed)
    if best is None or best.gain < _WORTH_TRYING:
        return None
    for proposal in left:
        fewer = [each for each in best.proposals if each.edit != proposal.edit]
        without = _join(case, step_ms, fewer, allowed)
        if without is not None and without.gain >= best.gain / _NO_LOSS:
            best = without
    return best


def _key(proposal: Proposal) -> str:
    return json.dumps(proposal.edit.to_dict(), sort_keys=True)


def advanced(case: Case, step_ms: float, proposal: Proposal) -> tuple[Case, float]:
    """The case with one more edit, and its step alone."""
    pipeline = fixes.apply(case.pipeline, [proposal.edit])
    costs = proposal.costs if proposal.costs is not None else case.costs
    if proposal.step_ms is not None:
        step_ms *= proposal.step_ms / max(case.measured.step.ceiling.value, 1e-9)
        case = replace(case, step_ms=step_ms)
    edits = (*case.edits, proposal.edit)
    return replace(case, pipeline=pipeline, costs=costs, edits=edits), step_ms


def expected_ms(case: Case, step_ms: float) -> float:
    """The step that the stage costs let expect. Its CPU time shrinks with it."""
    measured = case.measured
    ceiling = max(measured.step.ceiling.value, 1e-9)
    cpu = (measured.step.cpu or 0.0) * min(1.0, step_ms / ceiling)
    return predict_step(
        case.costs, ceiling_ms=step_ms, step_cpu_ms=cpu, cores=measured.machine.cores
    )


def gain(case: Case, step_ms: float, proposal: Proposal) -> float:
    """What this proposal is expected to make of the step: before over after.

    The model's prediction of the job as it stands is scaled to what was observed,
    so that its own error cancels; no prediction goes below the step alone.
    """
    before = expected_ms(case, step_ms)
    costs = proposal.costs if proposal.costs is not None else case.costs
    after_step = step_ms
    if proposal.step_ms is not None:
        after_step *= proposal.step_ms / max(case.measured.step.ceiling.value, 1e-9)
    after = expected_ms(replace(case, costs=costs), after_step)
    step = case.measured.step
    if proposal.note == "epoch start" and step.epoch_start > 0:
        after = min(after, before - step.epoch_start * before / step.observed.value)
    return before / max(after, 1e-9)
