"""The examination of a loop whose step is a model's own test step.

It is measured as a training step is, fed from its input and from ready batches in
turns; how it is launched, and at which batch size, is not asked.
"""

from __future__ import annotations

from dataclasses import replace

from feedline.job.job import Job
from feedline.job.loops.facts import job_of
from feedline.job.loops.loop import Experiment
from feedline.measure.examine import Examiner
from feedline.measure.machine import look
from feedline.measure.measurement import Measurement
from feedline.measure.stages import Watched
from feedline.measure.step import measure_step


class ValidationExaminer(Examiner):
    """What the input and computing of a validation take, and its pipeline's stages."""

    def _examine(self) -> Experiment[tuple[Job, Measurement]]:
        machine = look()
        job = job_of(self.loop, self.watch, batch_size=None)
        yield from self._fill_cache(job)
        batch = self._batch_size()
        job = replace(job, batch_size=batch)
        step = yield from measure_step(
            self.clock,
            seconds=0.5 * self.seconds,
            accelerated=machine.accelerated,
            batch_size=batch,
            steps_per_epoch=job.steps_per_epoch,
        )
        watched = self._try(
            "the stages' costs", lambda: self._stages(job, step), Watched(())
        )
        self.unknown += watched.unknown
        files = self._try(
            "the files", lambda: self._files(job, step, watched.stages), None
        )
        return job, Measurement(
            machine=machine,
            step=step,
            stages=watched.stages,
            guessed=watched.guessed,
            files=files,
            first_epoch=self.first_epoch,
            unknown=tuple(self.unknown),
            seconds=self.clock.now() - self.began,
        )
