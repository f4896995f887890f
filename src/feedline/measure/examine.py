"""The whole examination of one warm loop, from first step to `Measurement`.

An experiment like the others: it yields requests for steps and does in between
what needs none. Each part keeps to its share of the time; what was not measured
is said in `unknown`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from feedline.job.job import Job
from feedline.job.loops.base import Loop
from feedline.job.loops.call import CallLoop
from feedline.job.loops.devices import accelerator, joined
from feedline.job.loops.drop_iterator import without_waiting
from feedline.job.loops.facts import job_of, retraces_of
from feedline.job.loops.feeds import batch_size as size_of
from feedline.job.loops.loop import CannotRun, Clock, Experiment, LoopEnded, Run
from feedline.job.script.watch import Watch
from feedline.job.tfdata import ops
from feedline.job.tfdata.pipeline import Pipeline
from feedline.measure import whatif
from feedline.measure.files import measure_files
from feedline.measure.live import steps_for, take_capture
from feedline.measure.machine import look
from feedline.measure.matmul import measure_matmuls
from feedline.measure.measurement import (
    Estimate,
    Machine,
    Measurement,
    StageCost,
    StepTimes,
    WhatIf,
)
from feedline.measure.softmax import measure_softmax
from feedline.measure.stages import Watched, watch_live, watch_stages
from feedline.measure.step import intercept, measure_curve, measure_step
from feedline.measure.updates import UpdateCost, measure_update

log = logging.getLogger(__name__)

_VECTORIZED_S = 1.0
_SLIGHT = 0.05  # of the step: what the input takes at most there is known well enough
_HURRY_S = 5.0
_TRACED_AGAIN = 2.0  # first steps: for several steps a launch two are traced


@dataclass
class Examiner:
    """Holds what the parts of one examination share."""

    loop: Loop
    watch: Watch
    clock: Clock
    seconds: float
    say: Callable[[str], None] = lambda _: None

    def __post_init__(self) -> None:
        self.began = self.clock.now()
        self.unknown: list[str] = []
        self.first_epoch = False

    def left(self) -> float:
        return max(0.0, self.seconds - (self.clock.now() - self.began))

    def examine(self) -> Experiment[tuple[Job, Measurement]]:
        with without_waiting() as ends:
            job, measured = yield from self._examine()
        return job, replace(measured, ends=tuple(ends))

    def _examine(self) -> Experiment[tuple[Job, Measurement]]:
        machine = look()
        loop = self.loop
        job = job_of(loop, self.watch, batch_size=None)
        yield from self._fill_cache(job)
        self.say("timing the step as it runs, then fed from ready batches")
        batch = self._batch_size()
        job = replace(job, batch_size=batch)
        step = yield from measure_step(
            self.clock,
            seconds=0.35 * self.seconds,
            accelerated=machine.accelerated,
            batch_size=batch,
            host_work=0.0 if loop.kind == "loop" else self._host_work(),
            steps_per_epoch=job.steps_per_epoch if job.restarts else None,
        )
        step = replace(step, host_work=self._host_work())
        self.say("timing each stage of the pipeline")
        watched = self._try(
            "the stages' costs", lambda: self._stages(job, step), Watched(())
        )
        self.unknown += watched.unknown
        stages = watched.stages
        if watched.alone and step.input_alone is not None:
            # Its batches were ready when it was timed beside the training.
            step = replace(step, input_alone=_at_least(step.input_alone, watched.alone))
        self.say("timing the step at other batch sizes")
        update = self._try(
            "the optimizer's update", lambda: self._update(machine), None
        )
        step = yield from self._overhead(step, job, update)
        self.say("trying changes that could help")
        found = self._what_ifs(job, step, stages)
        softmax = self._try(
            "the output layer", lambda: self._softmax(job, machine), None
        )
        files = self._try("the files", lambda: self._files(job, step, stages), None)
        matmuls = self._try(
            "the matrix products", lambda: self._matmuls(job, machine), ()
        )
        job = replace(job, retraces=retraces_of(loop))  # those in the meantime too
        return job, Measurement(
            machine=machine,
            step=step,
            stages=stages,
            guessed=watched.guessed,
            tables=update.tables if update else (),
            softmax=softmax,
            matmuls=matmuls,
            files=files,
            what_if=found,
            trace_ms=step.tracing,
            first_epoch=self.first_epoch,
            unknown=tuple(self.unknown),
            seconds=self.clock.now() - self.began,
        )

    def capture(self, measured: Measurement) -> Experiment[Measurement]:
        """The same with a short capture of the job, where one can be had. Whatever
        happens here, nothing that was measured is lost."""
        seconds = min(5.0, max(2.0, self.left()))
        steps = steps_for(measured.step.observed.value, seconds)
        if not steps:
            return self._without_capture(measured, "its steps take too long")
        self.say("taking a short profile")
        try:
            taken = yield from take_capture(steps, seconds)
        except Exception as error:
            log.info("no capture could be taken", exc_info=True)
            reason = f"{type(error).__name__}: {_first_line(error)}"
            return self._without_capture(measured, reason)
        return replace(measured, capture=taken)

    def _without_capture(self, measured: Measurement, reason: str) -> Measurement:
        note = f"what a profile of some steps would show: {reason}"
        return replace(measured, unknown=(*measured.unknown, note))

    # ------------------------------------------------------------------ parts

    def _try(self, what: str, part: Callable[[], Any], otherwise: Any) -> Any:
        """A part that fails costs its own result, not the verdict."""
        try:
            return part()
        except Exception as error:
            log.info("%s could not be measured", what, exc_info=True)
            self.unknown.append(f"{what}: {type(error).__name__}: {_first_line(error)}")
            return otherwise

    def _fill_cache(self, job: Job) -> Experiment[None]:
        """With a cache in the pipeline the steady state begins when it is full:
        read on, without training, to the end of the epoch."""
        live = self.loop.live
        if job.pipeline is None or live is None or not job.pipeline.find(ops.CACHE):
            return
        self.say("filling the pipeline's cache, as the first epoch would")
        until = self.clock.now() + 0.25 * self.seconds
        before = len(live.starts)
        try:
            while len(live.starts) == before and self.clock.now() < until:
                yield Run("pull", 4)
        except (LoopEnded, CannotRun):
            return
        if len(live.starts) == before:
            self.first_epoch = True
            self.unknown.append(
                "the pipeline's cache was not full in time: this is the first epoch"
            )

    def _batch_size(self) -> int | None:
        try:
            return self.loop.batch_size()
        except (CannotRun, LoopEnded):
            return None

    def _host_work(self) -> float:
        """Python between the steps, in ms: the period less the step itself."""
        periods, inside = self.loop.periods, self.loop.inside
        if len(periods) < 3:
            return 0.0
        return max(0.0, 1e3 * (median(periods) - median(inside)))

    def _stages(self, job: Job, step: StepTimes) -> Watched:
        pipeline, live = job.pipeline, self.loop.live
        if pipeline is None or live is None:
            return Watched(())
        alone = step.input_alone.value if step.input_alone is not None else None
        if not pipeline.rereadable:
            # Beside the training it gives a batch with every step.
            within = alone or step.observed.value
            stages, unknown = watch_live(pipeline, live.iterator, within)
            return Watched(stages, 0.0, unknown)
        seconds = min(6.0, 0.1 * self.seconds)
        slight = step.shares()["input"] < _SLIGHT and self.seconds < _HURRY_S
        return watch_stages(
            pipeline, self.clock, seconds, alone, self.left(), by_model=slight
        )

    def _update(self, machine: Machine) -> UpdateCost | None:
        update = next(reversed(self.watch.updates), None)
        if update is None or update.optimizer is None:
            return None
        ids, touched = _ids_of(self.loop.ring(Run("host")).batches[0])
        cost = measure_update(
            update,
            ids_per_step=ids,
            touched=touched,
            clock=self.clock,
            seconds=0.07 * self.seconds,
            free_bytes=machine.free_memory_gb * 2**30,
            where_of=self.watch.table_where,
            is_layer=self.watch.is_table,
        )
        if cost is None:
            self.unknown.append(
                "the optimizer's update: a copy of the parameters would not fit"
            )
        return cost

    def _overhead(
        self, step: StepTimes, job: Job, update: UpdateCost | None
    ) -> Experiment[StepTimes]:
        """The intercept of step time over batch size, less the update's part
        that grows with the parameters: that is computing, not overhead."""
        size = step.batch_size
        fed = step.host_fed.value - step.tracing
        if self.loop.kind != "loop":
            fed -= step.host_work
        if size is None or 1e-3 * fed * 14 > self.left():
            self.unknown.append("overhead: no time for other batch sizes")
            return replace(step, overhead=step.tracing + step.host_work)
        sizes = sorted({max(1, size // 4), size})
        if 1e-3 * fed * 60 < self.left() and not job.jit_compile:
            sizes = sorted({*sizes, max(1, size // 2), 2 * size, 4 * size})
        on_device = step.ceiling.value < step.host_fed.value
        curve = yield from measure_curve(
            sizes,
            clock=self.clock,
            seconds=min(0.1 * self.seconds, self.left()),
            feed="device" if on_device else "host",
        )
        fixed = intercept([point for point in curve if point[0] <= size])
        if fixed is None:
            self.unknown.append("overhead: the batch size cannot be varied")
            return replace(step, curve=curve, overhead=step.tracing + step.host_work)
        if update is not None:
            fixed = max(0.0, fixed - update.fixed)
        around = step.tracing + (0.0 if self.loop.kind == "loop" else step.host_work)
        return replace(
            step, curve=curve, overhead=min(fixed + around, step.ceiling.value)
        )

    def _tried(
        self, what: str, least: float, part: Callable[[float], dict[WhatIf, Estimate]]
    ) -> dict[WhatIf, Estimate]:
        """An experiment that takes `least` seconds. Cut short it would say something
        by chance."""
        if least > self.left():
            self.unknown.append(f"{what}: no time for it")
            return {}
        seconds = 0.04 * self.seconds
        found: dict[WhatIf, Estimate] = self._try(what, lambda: part(seconds), {})
        return found

    def _what_ifs(
        self,
        job: Job,
        step: StepTimes,
        stages: tuple[StageCost, ...],
    ) -> dict[WhatIf, Estimate]:
        found: dict[WhatIf, Estimate] = {}
        shares, clock, loop = step.shares(), self.clock, self.loop
        pipeline = job.pipeline if job.pipeline and job.pipeline.rereadable else None
        if pipeline is not None and shares["input"] > 0.05:
            if whatif.has_order(pipeline):
                found |= self._tried(
                    "the input without order",
                    whatif.INPUT_VARIANTS_S,
                    lambda s: whatif.input_variants(pipeline, clock, s),
                )
            found |= self._tried(
                "the map once per batch",
                _VECTORIZED_S,
                lambda s: self._vectorized(pipeline, stages, s),
            )
        if not isinstance(loop, CallLoop) or loop.kind != "fit":
            return found
        tracing = _TRACED_AGAIN * loop.first_step_seconds
        if loop.strategy is not None:
            if pipeline is not None:
                found |= self._tried(
                    "the step without the strategy",
                    tracing,
                    lambda s: whatif.without_strategy(loop, pipeline, clock, s),
                )
        elif shares["overhead"] > 0.1 or loop.eager:
            found |= self._tried(
                "other ways to launch the step",
                0.0 if loop.eager else tracing,
                lambda s: whatif.step_variants(loop, clock, s, eager=loop.eager),
            )
        return found

    def _vectorized(
        self, pipeline: Pipeline, stages: tuple[StageCost, ...], seconds: float
    ) -> dict[WhatIf, Estimate]:
        order = list(pipeline.stages())
        maps = [
            cost
            for cost in stages
            if 0 <= cost.index < len(order)
            and order[cost.index].op == ops.MAP
            and cost.elements_per_batch > 1
        ]
        if not maps:
            return {}
        cost = max(maps, key=lambda each: each.ms_per_batch)
        return whatif.vectorized_map(
            pipeline,
            order[cost.index],
            round(cost.elements_per_batch),
            self.clock,
            seconds,
        )

    def _softmax(self, job: Job, machine: Machine) -> Any:
        batch = self.loop.ring(Run("host")).batches[0]
        outputs = getattr(self.loop.model, "output_shape", None)
        rows = size_of(batch) or 1
        if isinstance(outputs, tuple) and len(outputs) > 2:
            for length in outputs[1:-1]:
                rows *= length or 1
        return measure_softmax(
            job,
            rows,
            self.clock,
            seconds=0.05 * self.seconds,
            free_bytes=machine.free_memory_gb * 2**30,
        )

    def _files(self, job: Job, step: StepTimes, stages: tuple[StageCost, ...]) -> Any:
        if job.pipeline is None or step.shares()["input"] <= 0.05:
            return None
        return measure_files(job.pipeline, stages, self.clock)

    def _matmuls(self, job: Job, machine: Machine) -> Any:
        if not machine.tensor_cores or job.batch_size is None:
            return ()
        return measure_matmuls(
            job, job.batch_size, accelerator(), self.clock, seconds=0.05 * self.seconds
        )


def _at_least(estimate: Estimate, value: float) -> Estimate:
    return replace(
        estimate,
        value=max(estimate.value, value),
        high=max(estimate.high, value),
    )


def _ids_of(batch: Any) -> tuple[int, int]:
    """How many ids the largest integer tensor of a batch holds, and how many
    different ones."""
    import numpy as np
    import tensorflow as tf

    largest = 1, 1
    for part in tf.nest.flatten(batch):
        tensor = joined(part)
        if isinstance(tensor, tf.RaggedTensor | tf.SparseTensor):
            tensor = tensor.values
        if getattr(tensor, "dtype", None) in (tf.int32, tf.int64):
            array = np.asarray(tensor).ravel()
            if array.size > largest[0]:
                largest = int(array.size), int(np.unique(array).size)
    return largest


def _first_line(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return text[0][:120] if text else ""
