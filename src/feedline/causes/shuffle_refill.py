"""Every epoch waits until a large shuffle buffer is full

## What it is

A `shuffle` with a large buffer behind expensive work (decoded images, parsed records).
It gives its first element only when the buffer is full, and it starts empty in every
epoch.

## Why it is slow

The first step of each epoch waits for thousands of elements to be read and decoded.
With few steps per epoch that is a large part of the whole training, and nothing is
prepared across the end of an epoch.

## Example

```python
dataset = paths.map(load_and_decode).shuffle(10_000).batch(32)
```

## Use instead

```python
dataset = paths.shuffle(len(paths)).map(load_and_decode).batch(32)
```

## Fix

- `shuffle-ids` (exact): the same shuffle before the maps that feed it. It draws the
  same positions, so the order stays, bit for bit, and its buffer fills with paths or
  ids, which is fast.
- `smaller-buffer` (advice): fills sooner, shuffles less well. Once ids are shuffled, a
  larger buffer can hold them all and shuffles better. Both change the order.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes.asking import ms, seen, steps_per_pass, upstream
from feedline.causes.finding import Finding
from feedline.job.job import Job
from feedline.job.tfdata import ops
from feedline.measure.measurement import Measurement

FIXES: tuple[str, ...] = ("shuffle-ids", "smaller-buffer")


def detect(job: Job, measured: Measurement) -> Iterator[Finding]:
    stages = seen(job, measured)
    steps = job.steps_per_epoch or steps_per_pass(job, measured) or 0.0
    start = min(measured.step.epoch_start, measured.step.observed.value)
    for each in stages:
        stage, cost = each
        buffer = stage.args.get("buffer_size")
        if stage.op != ops.SHUFFLE or not isinstance(buffer, int):
            continue
        batches = buffer / max(cost.elements_per_batch, 1.0)
        if batches <= 1 or start <= 0:
            continue
        # Filling takes no more than the work before the buffer, done in turns; the
        # rest of what an epoch's start costs has other reasons.
        before = {id(other) for other in upstream(stage)}
        work = sum(o.cost.ms_per_batch for o in stages if id(o.stage) in before)
        saved = min(start, work * min(batches / steps, 1.0)) if steps else start
        evidence = (
            f"{stage.label()} fills up before the first step of each epoch: "
            f"{min(batches, steps or batches):,.0f} batches at {ms(work)} each. Spread "
            f"over the epoch, that is {ms(saved)} per step."
        )
        yield Finding("shuffle-refill", saved, evidence, each.where(job), FIXES)
