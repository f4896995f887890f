"""One slow element holds back the others that are ready

## What it is

A parallel stage that keeps the order of its elements, while some of them take much
longer than the rest: long documents among short ones, files on a shard that answers
late.

## Why it is slow

Finished elements wait behind the slow one, the stage's buffer fills up, and its threads
stop until the slow one is done. Without the order the others would be passed on at
once.

## Example

```python
dataset = files.interleave(
    tf.data.TFRecordDataset, num_parallel_calls=tf.data.AUTOTUNE
)
```

## Use instead

```python
dataset = files.interleave(
    tf.data.TFRecordDataset,
    num_parallel_calls=tf.data.AUTOTUNE,
    deterministic=False,
)
```

## Fix

- `unordered` (reordered): the same elements in an order that differs from run to run.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes.asking import ms, seen, tried, waiting
from feedline.causes.finding import Finding
from feedline.job.job import Job
from feedline.measure.measurement import Measurement

FIXES: tuple[str, ...] = ("unordered",)


def detect(job: Job, measured: Measurement) -> Iterator[Finding]:
    unordered = tried(measured, "input:unordered")
    parallel = [each for each in seen(job, measured) if each.cost.parallelism > 1]
    if unordered is None or not parallel:
        return
    slowest = max(parallel, key=lambda each: each.cost.ms_per_batch)
    saved = min(unordered.gain, waiting(measured))
    evidence = (
        f"The input alone takes {ms(unordered.before.value)} per batch in order and "
        f"{ms(unordered.after.value)} out of order: in {slowest.stage.label()} "
        "elements that are ready wait for slow ones."
    )
    yield Finding("ordered-straggler", saved, evidence, slowest.where(job), FIXES)
