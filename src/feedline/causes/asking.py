"""What several causes ask of a job: stages beside their costs, gains, wording.

Not for judging: whether something is a fault, and the sentence that says so,
stands in the cause's own file.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

from feedline.job.job import Job
from feedline.job.tfdata import endings, ops
from feedline.job.tfdata.ops import Fact
from feedline.job.tfdata.pipeline import Pipeline, Stage, Where
from feedline.measure.measurement import Estimate, Measurement, StageCost, WhatIf
from feedline.measure.predict import saving

PREFETCH = StageCost(index=-1, name=ops.PREFETCH, asynchronous=True, injected=True)
_READ_OPS = ("RecordDataset", "TextLineDataset", "CSVDataset")
_QUIET_CALLBACKS = (  # Keras' own, and those that act once an epoch
    *("History", "ProgbarLogger", "CSVLogger", "EarlyStopping"),
    *("LearningRateScheduler", "ReduceLROnPlateau", "FeedlineWatch", "Monitor"),
)


class Seen(NamedTuple):
    """A stage as the user wrote it, and what it costs as it really runs."""

    stage: Stage
    cost: StageCost

    def where(self, job: Job) -> Where | None:
        return self.stage.where or self.cost.where or job.where


def seen(job: Job, measured: Measurement) -> list[Seen]:
    """The user's own stages that run in every epoch, the source first."""
    stages = list(job.pipeline.stages()) if job.pipeline else []
    return [
        Seen(stages[cost.index], cost)
        for cost in measured.stages
        if not cost.injected
        and 0 <= cost.index < len(stages)
        and not _cached(job, stages[cost.index])
    ]


def upstream(stage: Stage) -> list[Stage]:
    """The stage and everything that feeds it."""
    return list(Pipeline(stage).stages())


def _cached(job: Job, stage: Stage) -> bool:
    """Does a cache further on spare this stage all epochs but the first?"""
    after = job.pipeline.after(stage) if job.pipeline else []
    return passes(job) > 1 and any(later.has(Fact.KEEPS_ELEMENTS) for later in after)


def steady(job: Job, measured: Measurement) -> Measurement:
    """The measurement from the second epoch on: what is cached costs nothing.
    Stages are timed on a copy of the pipeline, whose cache may still be filling."""
    later = spared(job)
    costs = [cost for cost in measured.stages if cost.index in later]
    return replace(measured, stages=without(measured, costs)) if costs else measured


def spared(job: Job) -> frozenset[int]:
    """The places of the stages that a cache spares after the first epoch."""
    stages = list(job.pipeline.stages()) if job.pipeline else []
    return frozenset(i for i, stage in enumerate(stages) if _cached(job, stage))


def one_interpreter(job: Job, measured: Measurement) -> Measurement:
    """The same with every Python stage on one thread: whatever number of threads
    it has, the interpreter runs one of them. Where the input is faster than one
    thread could be, most of that Python lets others run (NumPy, a decoder)."""
    alone = measured.step.input_alone
    longest = 1.25 * alone.value if alone is not None else float("inf")
    python = {
        id(each.cost)
        for each in seen(job, measured)
        if each.stage.python and each.cost.ms_per_batch <= longest
    }
    stages = (
        replace(each, parallelism=1) if id(each) in python else each
        for each in measured.stages
    )
    return replace(measured, stages=tuple(stages))


def reads_records(stage: Stage) -> bool:
    """Does this stage read records from files (a map over paths does not)?"""
    if stage.has(Fact.RECORDS):
        return True
    if not stage.has(Fact.RECORDS_INSIDE):
        return False
    inner = upstream(stage.inner) if stage.inner else []
    kernels = (op for function in stage.functions for op in function.ops)
    return any(reads_records(each) for each in inner) or any(
        part in op for op in kernels for part in _READ_OPS
    )


def opener(job: Job, measured: Measurement) -> Seen | None:
    """The costliest stage that opens files in every epoch."""
    found = [
        each
        for each in seen(job, measured)
        if reads_records(each.stage)
        or any("ReadFile" in function.ops for function in each.stage.functions)
    ]
    return max(found, key=lambda each: each.cost.ms_per_batch, default=None)


def passes(job: Job) -> float:
    """How often the data is gone through; infinity where nothing limits it."""
    times = float("inf") if job.epochs is None else float(job.epochs)
    if not job.restarts:
        times = 1.0
    for stage in endings.repeats(job.pipeline.root) if job.pipeline else []:
        times *= (_count(stage) or float("inf")) if times else 1.0
    if times and job.pipeline is not None and endings.unbounded(job.pipeline.root):
        return float("inf")  # also where each branch is repeated by itself
    return times


def steps_per_pass(job: Job, measured: Measurement) -> float | None:
    """Steps that go once through the data; None where nothing tells."""
    if job.pipeline is not None and job.pipeline.cardinality > 0:
        steps = float(job.pipeline.cardinality)
        for stage in endings.repeats(job.pipeline.root):
            steps /= _count(stage) or 1
        return steps
    infinite = job.pipeline is not None and job.pipeline.cardinality == -1
    if job.steps_per_epoch and job.restarts and not infinite:
        return float(job.steps_per_epoch)
    files = measured.files
    if files is not None and files.files_per_step > 0:
        return files.files / files.files_per_step
    return None


def _count(repeat: Stage) -> int | None:
    """How often a `repeat` repeats; None for ever."""
    count = repeat.args.get("count")
    return count if isinstance(count, int) and count > 0 else None


def replaced(
    measured: Measurement, cost: StageCost, by: StageCost
) -> tuple[StageCost, ...]:
    return tuple(by if each is cost else each for each in measured.stages)


def without(
    measured: Measurement, costs: Collection[StageCost]
) -> tuple[StageCost, ...]:
    """The stages with the work of some of them gone."""
    gone = {id(cost) for cost in costs}
    return tuple(
        replace(each, ms_per_batch=0.0) if id(each) in gone else each
        for each in measured.stages
    )


def gain_of_threads(measured: Measurement, cost: StageCost, threads: int) -> float:
    """What more threads on this stage, working ahead, would take off a step.

    A stage in threads of its own also overlaps with the training step, but so
    does a prefetch, and `no-prefetch` counts that. Here it is left out, so that
    a cheap map in an unprefetched pipeline is not blamed for the lost overlap.
    """
    wide = replace(cost, parallelism=threads, asynchronous=True)
    ahead = saving(measured, (*measured.stages, PREFETCH))
    both = saving(measured, (*replaced(measured, cost, wide), PREFETCH))
    return min(cost.ms_per_batch, max(0.0, both - ahead))


def waiting(measured: Measurement) -> float:
    """What a step waits for its input, apart from starting an epoch."""
    return max(0.0, measured.step.input_wait - measured.step.epoch_start)


class Tried(NamedTuple):
    """An experiment: the job as it is and changed, run in the same turns."""

    before: Estimate
    after: Estimate

    @property
    def gain(self) -> float:
        """0 where the two intervals touch: that is no difference."""
        apart = self.after.high < self.before.low
        return self.before.value - self.after.value if apart else 0.0


def tried(measured: Measurement, name: WhatIf) -> Tried | None:
    """None where it was not tried. `input:as-is` and `step:as-is` ran beside it;
    without them the plain measurement must do."""
    step, of_step = measured.step, name.startswith("step:")
    after = measured.what_if.get(name)
    before = measured.what_if.get("step:as-is" if of_step else "input:as-is")
    before = before or (step.ceiling if of_step else step.input_alone)
    return Tried(before, after) if before is not None and after is not None else None


def in_step(measured: Measurement, ms: float) -> float:
    """A cost inside the step cannot be more than the step."""
    step = measured.step
    return max(0.0, min(ms, step.ceiling.value, step.observed.value))


def table_updates(measured: Measurement) -> float:
    """What `dense-embedding-update` explains: a cost that no batch changes."""
    return sum(
        max(0.0, table.update - table.update_touched_only) for table in measured.tables
    )


def starting(measured: Measurement) -> float:
    """What a step costs however little it computes, apart from the Python around
    it and from tracing, which are causes of their own."""
    step = measured.step
    return max(0.0, (step.overhead or 0.0) - step.host_work - step.tracing)


def launching(measured: Measurement) -> float:
    """The same as a cause: 0 unless it is more than half of the ceiling, else
    computing is what takes the time."""
    fixed = starting(measured)
    mostly = fixed > measured.step.ceiling.value / 2
    return in_step(measured, fixed) if mostly else 0.0


def captured_ms(measured: Measurement, *kinds: str) -> float:
    """What these kinds take of a step by the capture, as a part of the step as it
    was observed: a profiler slows a step down."""
    capture = measured.capture
    if capture is None:
        return 0.0
    return sum(capture.share(kind) for kind in kinds) * measured.step.observed.value


def batch_callbacks(job: Job) -> list[str]:
    """The user's callbacks that may act on every batch."""
    names = (name.rpartition(".")[2] for name in job.callbacks)
    return [name for name in names if name not in _QUIET_CALLBACKS]


def ms(value: float) -> str:
    digits = 0 if value >= 100 else 1 if value >= 1 else 2
    return f"{value:,.{digits}f} ms"


def all_of(cores: int) -> str:
    return "both" if cores == 2 else f"all {cores}"
