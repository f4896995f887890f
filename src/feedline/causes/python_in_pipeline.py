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
    return tf.py_function(load_with_numpy, [path], tf.float32)

dataset = paths.map(load, num_parallel_calls=tf.data.AUTOTUNE).batch(32)
```

## Use instead

```python
def load(path):
    return tf.io.decode_jpeg(tf.io.read_file(path))

dataset = paths.map(load, num_parallel_calls=tf.data.AUTOTUNE).batch(32)
```

## Fix

- `worker-processes` (exact): the same Python in one process per core, results
  in the same order. The code must not depend on state shared between calls.
- `tensorflow-ops` (advice): the TensorFlow equivalent, where there is one; it
  runs without the interpreter, but rounding and corner cases are for a person to
  check.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes.asking import all_of, gain_of_threads, ms, one_interpreter, seen
from feedline.causes.finding import Finding
from feedline.job.job import Job
from feedline.measure.measurement import Measurement

FIXES: tuple[str, ...] = ("worker-processes", "tensorflow-ops")


def detect(job: Job, measured: Measurement) -> Iterator[Finding]:
    cores = measured.machine.cores
    measured = one_interpreter(job, measured)
    for each in seen(job, measured):
        stage, cost = each
        if not stage.python:
            continue
        saved = gain_of_threads(measured, cost, cores)
        evidence = (
            f"{stage.label()} runs {ms(cost.ms_per_batch)} of Python per step, one "
            f"thread at a time; in processes on {all_of(cores)} cores the step would "
            f"take {ms(saved)} less."
        )
        yield Finding("python-in-pipeline", saved, evidence, each.where(job), FIXES)
