"""A cache repeats the random draws of the first epoch in every later one

## What it is

A random stage (augmentation, a shuffle) comes before a `cache`. The cache keeps what
was drawn in the first epoch, and every later epoch gets the same. This costs no time,
but the training is not the intended one.

## Why it is slow

It is not slow, it is wrong: the model sees one version of every image and not a new one
in each epoch, and memorises it. After a shuffle, the order of the elements never
changes.

## Example

```python
dataset = dataset.map(decode).map(random_crop).shuffle(1000).cache().batch(32)
```

## Use instead

```python
dataset = dataset.map(decode).cache().shuffle(1000).map(random_crop).batch(32)
```

## Fix

- `move-cache` (advice): the cache goes before the first random stage. The training
  changes to what the code was meant to do, and the random stage runs in every epoch
  again.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes.asking import passes, upstream
from feedline.causes.finding import Finding
from feedline.job.job import Job
from feedline.job.tfdata.constant import varies
from feedline.job.tfdata.ops import Fact
from feedline.measure.measurement import Measurement

FIXES: tuple[str, ...] = ("move-cache",)
FACT = True


def detect(job: Job, _: Measurement) -> Iterator[Finding]:
    if job.pipeline is None or passes(job) <= 1:
        return
    for cache in job.pipeline.stages():
        if not cache.has(Fact.KEEPS_ELEMENTS):
            continue
        drawn = [stage for stage in upstream(cache) if varies(stage)]
        values = [stage for stage in drawn if not stage.has(Fact.DRAWS_ORDER)]
        if values:
            what = "repeats the same random draws"
        elif drawn and not any(
            later.has(Fact.DRAWS_ORDER) and varies(later)
            for later in job.pipeline.after(cache)
        ):
            what = "repeats the same order"
        else:
            continue
        evidence = (
            f"{(values or drawn)[0].label()} comes before {cache.label()}: every "
            f"epoch after the first {what}. It costs no time, but the model "
            "learns less."
        )
        where = cache.where or job.where
        yield Finding("frozen-randomness", 0.0, evidence, where, FIXES)
