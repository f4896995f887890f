"""A map runs on one core while the others are idle

## What it is

A `map` whose function is called for one element after the other, in one thread.
TensorFlow runs a map in parallel by itself when its function keeps no state, so this
happens mostly with functions that draw random numbers or read variables, and where the
optimisation `map_parallelization` is switched off. feedline looks at the threads that
really ran, not at the argument.

## Why it is slow

The step waits for a batch, and a batch is finished only when every element of it went
through that one thread. A second core would halve the wait, and eight cores take an
eighth of the time.

## Example

```python
def augment(image, label):
    return tf.image.random_flip_left_right(image), label

dataset = dataset.map(augment).batch(32)
```

## Use instead

```python
dataset = dataset.map(augment, num_parallel_calls=tf.data.AUTOTUNE).batch(32)
```

## Fix

- `parallel-map` (exact): the same elements in the same order. If the function draws
  from a seeded generator that all calls share, threads would change the order of the
  draws; such a map is left alone.
- `parallel-batch` (exact): where copying elements into batches takes long as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes.asking import all_of, gain_of_threads, ms, seen
from feedline.causes.finding import Finding
from feedline.job.job import Job
from feedline.job.tfdata import ops
from feedline.measure.measurement import Measurement, StageCost

FIXES: tuple[str, ...] = ("parallel-map", "parallel-batch")
_WORTH_NAMING = 0.1  # of the map: what batching must take


def detect(job: Job, measured: Measurement) -> Iterator[Finding]:
    cores = measured.machine.cores
    for each in seen(job, measured):
        stage, cost = each
        if stage.op != ops.MAP or stage.python or cost.parallelism > 1 or cores < 2:
            continue
        saved = gain_of_threads(measured, cost, cores)
        evidence = (
            f"{stage.label()} takes {ms(cost.ms_per_batch)} of CPU per step on 1 of "
            f"{cores} cores; spread over {all_of(cores)} the step would take "
            f"{ms(saved)} less."
        )
        named = FIXES if _serial_batch(job, measured, cost) else FIXES[:1]
        yield Finding("serial-map", saved, evidence, each.where(job), named)


def _serial_batch(job: Job, measured: Measurement, cost: StageCost) -> bool:
    """Are batches put together on one core too, and does it show?"""
    return any(
        each.stage.op == ops.BATCH
        and each.cost.parallelism == 1
        and each.cost.ms_per_batch > _WORTH_NAMING * cost.ms_per_batch
        for each in seen(job, measured)
    )
