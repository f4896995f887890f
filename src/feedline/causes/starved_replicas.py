"""A distribution strategy costs more than its devices give

## What it is

A `tf.distribute` strategy over a single device, or over several that each get so
little of the batch that coordinating them takes longer than the computing.

## Why it is slow

A strategy copies and splits every batch, starts the step on each replica, and
adds up the gradients across them. Over one device this is all price and no gain;
over several it pays only when every replica has enough to do.

## Example

```python
strategy = tf.distribute.MirroredStrategy()  # one device
with strategy.scope():
    model = make_model()
model.fit(dataset.batch(32))
```

## Use instead

```python
model = make_model()
model.fit(dataset.batch(32))
```

## Fix

- `no-strategy` (advice): for a single device.
- `larger-batch` (advice): for several: as much per replica as one device would
  get alone. That is another training, with another learning rate.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes.finding import Finding
from feedline.causes.look import in_step, launching, ms, tried, waiting
from feedline.job.job import Job
from feedline.measure.measurement import Measurement

FIXES: tuple[str, ...] = ("no-strategy", "larger-batch")


def detect(job: Job, measured: Measurement) -> Iterator[Finding]:
    single = tried(measured, "step:no-strategy")
    if job.strategy is None:
        return
    over = "1 device" if job.replicas == 1 else f"{job.replicas} replicas"
    if single is not None:
        # A strategy also deals out the batches: what the step waits for beyond the
        # work of the pipeline's own stages is its doing too.
        dealing = waiting(measured) - sum(s.ms_per_batch for s in measured.stages)
        cost = in_step(measured, single.gain) + max(0.0, dealing)
        cost = cost if single.gain > 0 else 0.0
        evidence = (
            f"{job.strategy} over {over} takes {ms(single.before.value)} per step from "
            f"ready batches and {ms(max(0.0, dealing))} to deal them out; the same "
            f"step without it takes {ms(single.after.value)}."
        )
    else:
        cost = launching(measured) if job.replicas > 1 else 0.0
        evidence = (
            f"{job.strategy} over {over}: {ms(cost)} of the "
            f"{ms(measured.step.ceiling.value)} of a step do not depend on how much "
            "each replica has to do."
        )
    yield Finding("starved-replicas", cost, evidence, job.where, FIXES)
