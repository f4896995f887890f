"""The input of a loop of the script's own, cured between two steps of its training.

Copies of the pipeline are read in turns, each with the loop's own step beside it: the
step as a graph, on the batch that it was last given, so that it uses the machine as the
training does. Its variables, and all that is drawn, are put back. What was found is
read by the script from its next pass over the data on, and never re-makes a stage whose
state the training has moved on already.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from feedline.errors import CannotPutBack
from feedline.fixes.fix import Grade
from feedline.job.job import Job
from feedline.job.loops.call import CallLoop
from feedline.job.loops.facts import job_of
from feedline.job.loops.loop import CannotRun, Experiment, drive
from feedline.job.loops.snapshot import nbytes, restored, same_draws, variables_in
from feedline.job.loops.step_state import (
    check_pipeline,
    draws_by_itself,
    variables_of_step,
)
from feedline.job.private import tensorflow as tf_private
from feedline.job.script.watch import Watch
from feedline.job.tfdata.owners import reachable
from feedline.job.tfdata.pipeline import Pipeline
from feedline.job.tfdata.rebuild import rebuild
from feedline.measure.machine import look, memory
from feedline.measure.measurement import Measurement
from feedline.measure.stages import watch_stages
from feedline.measure.step import measure_step
from feedline.prove.proof import Cured
from feedline.session.cure import Cure
from feedline.session.plans.stand_ins import shared
from feedline.session.tuning import stages_in_use

_LEAST_WAITING = 0.15
_EXAMINING = 0.4
_MISSING = 0.05


@dataclass(frozen=True)
class Step:
    """A step that can be made again and again, and the variables that it touches."""

    call: Callable[[], Any]
    variables: list[Any]
    seconds: float
    """Of the loop's body, without the wait for its batch."""


def function_step(loop: Any) -> Step:
    """The `tf.function` that a loop calls, on the batch of its last step. Raises
    `CannotRun` or `CannotPutBack` where it may not be called."""
    function, last = loop.step_function, loop.last_call
    if function is None or last is None or not loop.periods:
        raise CannotRun("its step is not known")
    found: dict[int, Any] = {}
    for concrete in tf_private.list_all_concrete_functions(function)():
        if draws_by_itself(concrete.graph):
            raise CannotPutBack("its step draws from a state that an operation keeps")
        for variable in variables_of_step(concrete.graph, []):
            found[id(variable)] = variable
    args, kwargs = last
    waited = median(loop.waits) if loop.waits else 0.0
    return Step(
        lambda: function(*args, **kwargs),
        list(found.values()),
        max(0.0, median(loop.periods) - waited),
    )


def waits(loop: Any) -> bool:
    """Does it wait for its input, by what was watched?"""
    if not loop.waits or not loop.periods:
        return False
    return bool(median(loop.waits) > _LEAST_WAITING * median(loop.periods))


@dataclass
class InputTrial:
    """One search, while the training stands still."""

    loop: Any
    watch: Watch
    step: Step
    pipeline: Pipeline
    allowed: tuple[Grade, ...]
    seconds: float
    training_s: float | None
    batch_size: int | None
    say: Callable[[str], None]

    def search(self) -> tuple[Job, Measurement, Cured]:
        """Raises where it may not be made; everything is as it was then, too."""
        check_pipeline(self.pipeline)
        touched = [*self.step.variables, *variables_in(self.pipeline)]
        if 4 * nbytes(touched) > memory()[1]:
            raise CannotRun("a copy of its variables would not fit in memory")
        with self.watch.pause(), same_draws(), restored(None, touched):
            probe = self._probe()
            job, measured, cured = drive(self._experiment(probe), probe.execute)
            if probe.live is not None:
                probe.live.release()
        return job, measured, cured

    def _probe(self) -> CallLoop:
        copy = rebuild(self.pipeline, fresh=True)
        probe = CallLoop("iterator", self.loop.where, self.watch.clock, self._call())
        probe.reads(copy, iter(copy))
        cardinality = self.pipeline.cardinality
        probe.steps_per_epoch = cardinality if cardinality > 0 else None
        probe.epochs, probe.restarts = self.loop.epochs, self.loop.restarts
        probe.keep_to_its_passes()
        return probe

    def _call(self) -> Callable[[Any], Any]:
        """A batch, the step, and as much Python as the loop has around its step."""
        now, step = self.watch.clock.now, self.step.call
        step()
        begin = now()
        for _ in range(3):
            step()
        missing = self.step.seconds - (now() - begin) / 3
        if missing < _MISSING * self.step.seconds:
            missing = 0.0

        def call(iterator: Any) -> None:
            next(iterator)
            step()
            until = now() + missing
            while now() < until:
                pass

        return call

    def _experiment(
        self, probe: CallLoop
    ) -> Experiment[tuple[Job, Measurement, Cured]]:
        clock, part = self.watch.clock, _EXAMINING * self.seconds
        job = job_of(self.loop, self.watch, batch_size=self.batch_size)
        job = replace(job, pipeline=self.pipeline)
        machine = look()
        times = yield from measure_step(
            clock,
            seconds=part / 2,
            accelerated=False,
            batch_size=self.batch_size,
            steps_per_epoch=job.steps_per_epoch if job.restarts else None,
        )
        alone = times.input_alone.value if times.input_alone is not None else None
        watched = watch_stages(self.pipeline, clock, min(6.0, part / 3), alone)
        measured = Measurement(
            machine=machine,
            step=times,
            stages=watched.stages,
            unknown=(*watched.unknown, "what a step costs however little it computes"),
        )
        cure = Cure(
            probe,
            clock,
            (1 - _EXAMINING) * self.seconds,
            self.allowed,
            say=self.say,
            used=stages_in_use(self.pipeline, list(self.watch.read_already))
            | shared(self.pipeline),
            reached=reachable(self.pipeline),
            training_s=self.training_s,
        )
        # Of the step nothing is asked here.
        asked = replace(job, eager=False, bare=False)
        return job, measured, (yield from cure.search(asked, measured))
