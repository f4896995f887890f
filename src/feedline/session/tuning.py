"""Tuning inside the user's own process: `feedline.tune`, and `fit` under
`feedline run`.

The job is copied, measured and cured on the copy; every variable and every source
of random numbers is put back; then the proved edits are applied to the job's own
pipeline and model, before its first step.
"""

from __future__ import annotations

import atexit
import logging
import warnings
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import tensorflow as tf

from feedline import fixes
from feedline.errors import FeedlineError
from feedline.fixes.fix import Edit, Grade
from feedline.fixes.target import Target
from feedline.job import marks
from feedline.job.job import Job
from feedline.job.loops.call import CallLoop
from feedline.job.loops.drop_iterator import look, unseen, without_waiting
from feedline.job.loops.loop import InputFailed, LoopEnded, Run, drive
from feedline.job.source.lines import here, where_of
from feedline.job.tfdata.owners import reachable
from feedline.job.tfdata.pipeline import Pipeline, Where
from feedline.job.tfdata.read import read
from feedline.job.tfdata.rebuild import rebuild
from feedline.measure.clock import SystemClock
from feedline.measure.machine import memory
from feedline.measure.measurement import Measurement, RunTimes
from feedline.prove.proof import Cured
from feedline.session.each_fit import in_each_fit
from feedline.session.experiment import examine_and_search
from feedline.session.inprocess import bench, check, ended, watched
from feedline.session.step_edits import install, step_edits
from feedline.session.worth import Budget

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Tuning:
    """All that was found out about one job."""

    job: Job
    measured: Measurement
    cured: Cured


def tune(dataset: Any, model: Any, allowed: tuple[Grade, ...], seconds: float) -> Any:
    """The tuned dataset. Whatever fails costs the tuning, not the dataset."""
    check(model, dataset, "feedline.tune")
    if getattr(dataset, marks.TUNED, False):
        return dataset
    try:
        # Nobody would see to it that what else is read through these stages later
        # is read from the tuned dataset.
        used = reachable(read(dataset).numbered())
        where = where_of(here(2))
        found = examine_and_cure(
            model,
            dataset,
            allowed,
            Budget(seconds, given=True),
            where=where,
            used=used,
        )
        tuned = tuned_dataset(dataset, found.cured.edits)
        edits = step_edits(found.cured.edits)
        if edits and model is not None:
            now = tuple(edit for edit in edits if fixes.own_loop((edit,)).steps == 1)
            install(Target(model, pipeline=read(dataset).numbered()), now)
            for edit in set(edits) - set(now):
                in_each_fit(model, int(edit.args["steps"]))
        look(tuned, memory()[1] / 4)
        _let_go_of_tuned()
    except Exception as error:
        warnings.warn(
            f"feedline.tune returns the dataset unchanged: {error}", stacklevel=3
        )
        log.info("tuning failed", exc_info=True)
        return dataset
    log.info(
        "tuned: %s", ", ".join(edit.fix for edit in found.cured.edits) or "nothing"
    )
    return tuned


def examine_and_cure(
    model: Any,
    dataset: Any,
    allowed: tuple[Grade, ...],
    budget: Budget,
    *,
    where: Where | None = None,
    facts: Callable[[CallLoop], None] = lambda _: None,
    used: frozenset[int] = frozenset(),
    reached: frozenset[int] = frozenset(),
    lines: Mapping[Any, Where | None] | None = None,
    say: Callable[[str], None] = lambda _: None,
    budgeted: Callable[[float], None] = lambda _: None,
    examined: Callable[[Job, Measurement], None] = lambda *_: None,
    shared: bool = False,
) -> Tuning:
    """`shared` as `bench` takes it. `facts` may tell the copied loop what is known of
    the job's own; `lines` made its embedding layers; `used` and `reached` are stages
    of the pipeline by number. `budgeted` is told how long measuring will take once
    that is known; `examined` is told what was measured, whatever becomes of the
    cure."""
    clock = SystemClock()
    pipeline = read(dataset)
    if not pipeline.rereadable:
        raise FeedlineError(
            "this dataset cannot be read twice (a generator that keeps state, a pipe, "
            "a service), so feedline cannot experiment with it"
        )
    with bench(model, dataset, clock, where, shared=shared) as loop:
        facts(loop)
        training_s, step_s = training_seconds(loop)
        seconds = budget.for_training(training_s, step_s)
        if loop.live is not None:
            loop.live.within(seconds)
        budgeted(seconds)
        experiment = examine_and_search(
            loop,
            watched(loop, clock, lines),
            clock,
            seconds,
            allowed,
            say=say,
            used=used,
            reached=reached,
            examined=examined,
            training_s=budget.to_gain_from(training_s),
        )
        try:
            job, measured, cured = drive(experiment, loop.execute)
        except (InputFailed, LoopEnded, StopIteration, tf.errors.OutOfRangeError) as e:
            raise ended(e) from None
    measured = replace(measured, run=RunTimes(trace_s=loop.first_step_seconds))
    return Tuning(job, measured, cured)


_COUNTING_S = 1.0
_WORTH_A_LOOK_MS = 2000.0
_LOOKING_S = 0.25
_SLOW_START_S = 0.5


def training_seconds(loop: CallLoop) -> tuple[float | None, float]:
    """How long the training and a step take, by its first steps on the copy; None and
    0 where nobody can tell."""
    if loop.model is None or loop.epochs is None:
        return None, 0.0
    steps = loop.steps_per_epoch or counted(loop)
    slow = loop.live.start_s if loop.live is not None and loop.restarts else 0.0
    if steps is None and slow < _SLOW_START_S:
        return None, 0.0
    timed = loop.execute(Run("live", 3))
    if steps is None:
        return loop.epochs * slow, timed.ms / 1e3  # it takes that long at least
    if loop.epochs * steps * timed.ms > _WORTH_A_LOOK_MS:
        # The first batches were made while the step was traced.
        most = max(3, round(1e3 * _LOOKING_S / max(timed.ms, 1e-3)))
        timed = loop.execute(Run("live", min(steps, most), seconds=_LOOKING_S))
    # A shuffle that holds all the data does an epoch's work before its first step.
    if slow < _SLOW_START_S:  # the first one of all takes longer
        slow = loop.execute(Run("epoch")).seconds if loop.restarts else 0.0
    return loop.epochs * (steps * timed.ms / 1e3 + slow), timed.ms / 1e3


def counted(loop: CallLoop) -> int | None:
    """The batches of an epoch whose number TensorFlow does not know, where they can be
    read in a moment."""
    live, steps = loop.live, 0
    if live is None or not loop.restarts or live.start_s >= _SLOW_START_S:
        return None
    loop.execute(Run("epoch"))
    before, until = len(live.starts), loop.clock.now() + _COUNTING_S
    while loop.clock.now() < until:
        loop.execute(Run("pull", 1))
        if len(live.starts) > before:
            return steps + 1
        steps += 1
    return None


def tuned_dataset(dataset: Any, edits: tuple[Edit, ...]) -> Any:
    """The dataset with the edits of its pipeline. What is not touched stays the
    very same object, with its caches and the state of its shuffles."""
    pipeline = fixes.apply(read(dataset).numbered(), edits)
    tuned = rebuild(pipeline)
    setattr(tuned, marks.TUNED, True)
    return tuned


@cache
def _let_go_of_tuned() -> None:
    """From now on no epoch over a tuned dataset waits at its end."""

    def may(dataset: Any) -> bool:
        return getattr(dataset, marks.TUNED, False) and unseen(dataset)

    going = ExitStack()
    going.enter_context(without_waiting(may, longest=None))
    atexit.register(going.close)


def stages_in_use(pipeline: Pipeline, read_already: list[Any]) -> frozenset[int]:
    """Numbers of the stages that keep a state and belong to a dataset that was
    read from already: to make them again would start that state anew."""
    from feedline.job.tfdata.ops import OPS, Fact

    known = {
        id(stage.handle.dataset)
        for dataset in read_already
        for stage in read(dataset).stages()
    }
    return frozenset(
        stage.number
        for stage in pipeline.numbered().stages()
        if stage.op in OPS
        and OPS[stage.op].has(Fact.STATE)
        and id(stage.handle.dataset) in known
    )
