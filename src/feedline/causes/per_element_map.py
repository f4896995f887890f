"""A map is called for every element, but does little work per call

## What it is

A cheap function (a cast, a scale, a table look-up) given to `map` before `batch`, so
that it is called once for every element and not once per batch.

## Why it is slow

Calling a function inside `tf.data` costs about ten microseconds however little it does:
arguments are wrapped, a graph is started, results are unwrapped. At 128 elements a step
that is more than the work itself. The same operations on a whole batch are called once
and run in vector instructions.

## Example

```python
def scale(image, label):
    return tf.cast(image, tf.float32) / 255.0, label

dataset = dataset.map(scale).batch(128)
```

## Use instead

```python
dataset = dataset.batch(128).map(scale, num_parallel_calls=tf.data.AUTOTUNE)
```

## Fix

- `vectorize-map` (exact): the same function once per batch, only where the results were
  compared and are equal bit for bit. A function that draws random numbers would draw
  once for the whole batch, so it is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from feedline.causes.asking import ms, replaced, seen
from feedline.causes.finding import Finding
from feedline.job.job import Job
from feedline.job.tfdata import ops
from feedline.measure.measurement import Measurement
from feedline.measure.predict import saving

FIXES: tuple[str, ...] = ("vectorize-map",)


def detect(job: Job, measured: Measurement) -> Iterator[Finding]:
    once = measured.what_if.get("input:vectorized")
    if once is None or job.pipeline is None:
        return
    maps = [
        each
        for each in seen(job, measured)
        if each.stage.op == ops.MAP
        and any(ops.BATCH in later.op for later in job.pipeline.after(each.stage))
    ]
    worst = max(maps, key=lambda each: each.cost.ms_per_batch, default=None)
    if worst is None or once.high > 0.5 * worst.cost.ms_per_batch:
        return  # the work itself takes the time, not the calls
    stage, cost = worst
    faster = replaced(measured, cost, replace(cost, ms_per_batch=once.value))
    evidence = (
        f"{stage.label()} is called {cost.elements_per_batch:,.0f} times per step and "
        f"takes {ms(cost.ms_per_batch)}; called once per batch it takes "
        f"{ms(once.value)}."
    )
    saved = min(saving(measured, faster), cost.ms_per_batch - once.value)
    yield Finding("per-element-map", saved, evidence, worst.where(job), FIXES)
