"""Python code makes the elements, and Python runs one thread at a time

## What it is

A stage that calls back into Python for every element: `tf.py_function`,
`tf.numpy_function`, `Dataset.from_generator`, a Keras `PyDataset`.

## Why it is slow

The interpreter lock lets one thread run at a time, so `num_parallel_calls` makes
threads that wait for each other, and for the training loop, which is Python too.
Each call also copies its arrays in and out of TensorFlow.

## Example

```python
def load(path):
    return tf.py_function(load_with_pillow, [path], tf.uint8)

dataset = paths.map(load, num_parallel_calls=tf.data.AUTOTUNE).batch(32)
```

## Use instead

```python
def load(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(image, (224, 224))

dataset = paths.map(load, num_parallel_calls=tf.data.AUTOTUNE).batch(32)
```

## Fix

- `keep-results` (exact): what pure functions return for the same file or line is
  kept; what draws random numbers is computed each time.
- `worker-processes` (exact): the same Python in one process per core, results
  in the same order. The code must not depend on state shared between calls.
- `tensorflow-ops` (advice): the TensorFlow equivalent, where there is one; it
  runs without the interpreter, but rounding and corner cases are for a person to
  check.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes.asking import (
    PREFETCH,
    all_of,
    gain_of_threads,
    ms,
    one_interpreter,
    seen,
    waiting,
    without,
)
from feedline.causes.finding import Finding
from feedline.job.job import Job
from feedline.job.tfdata import ops
from feedline.job.tfdata.pipeline import Stage, Where
from feedline.measure.measurement import Measurement, StageCost
from feedline.measure.predict import saving

FIXES: tuple[str, ...] = ("keep-results", "worker-processes", "tensorflow-ops")


def detect(job: Job, measured: Measurement) -> Iterator[Finding]:
    cores = measured.machine.cores
    measured = one_interpreter(job, measured)
    for each in seen(job, measured):
        stage, cost = each
        if not stage.python:
            continue
        saved = gain_of_threads(measured, cost, cores)
        if stage.op == ops.FROM_GENERATOR:
            gain = _gain_without(measured, cost)
            yield _source(stage, cost.ms_per_batch, gain, each.where(job))
            continue
        turns = "one thread at a time"
        if cost.parallelism > 1:
            turns = f"on {cost.parallelism} threads"
        evidence = (
            f"{stage.label()} runs {ms(cost.ms_per_batch)} of Python per step, "
            f"{turns}; in processes on {all_of(cores)} cores the step would "
            f"take {ms(saved)} less."
        )
        yield Finding("python-in-pipeline", saved, evidence, each.where(job), FIXES)
    if not measured.stages and (alone := _only_python(job)) is not None:
        wait = waiting(measured)
        yield _source(alone, wait, wait, alone.where or job.where)


def _gain_without(measured: Measurement, cost: StageCost) -> float:
    """What a step would gain if the elements cost nothing to make. That they could be
    made ahead of the step is for `no-prefetch` to say."""
    ahead = saving(measured, (*measured.stages, PREFETCH))
    free = saving(measured, (*without(measured, [cost]), PREFETCH))
    return min(cost.ms_per_batch, max(0.0, free - ahead))


def _source(stage: Stage, python: float, cost: float, where: Where | None) -> Finding:
    written = _written(stage)
    made = f", written at {written}," if written else ""
    evidence = (
        f"{stage.label()}{made} runs {ms(python)} of Python per step, one element "
        f"after the other, and the step waits {ms(cost)} for it."
    )
    return Finding("python-in-pipeline", cost, evidence, written or where, FIXES)


def _only_python(job: Job) -> Stage | None:
    """The generator of a pipeline that does nothing besides, where the stages' costs
    are not known: then all the wait is for it."""
    stages = list(job.pipeline.stages()) if job.pipeline else []
    if not stages or stages[0].op != ops.FROM_GENERATOR:
        return None
    rest = all(each.op == ops.PREFETCH for each in stages[1:])
    return stages[0] if rest else None


def _written(stage: Stage) -> Where | None:
    """The user's generator or `__getitem__`, which is not where it is used."""
    if stage.op != ops.FROM_GENERATOR or not stage.functions:
        return None
    return stage.functions[0].where
