"""A distribution strategy costs more than its devices give

## What it is

A `tf.distribute` strategy over a single device, or over several that each get so little
of the batch that coordinating them takes longer than the computing.

## Why it is slow

A strategy copies and splits every batch, starts the step on each replica, and adds up
the gradients across them. On one device this is all cost and no gain; on several it
pays only if every replica has enough to do.

## Example

```python
strategy = tf.distribute.MirroredStrategy()  # one device
with strategy.scope():
    model = make_model()
    model.compile(optimizer="adam", loss="mse")
model.fit(dataset.batch(32))
```

## Use instead

```python
model = make_model()
model.compile(optimizer="adam", loss="mse")
model.fit(dataset.batch(32))
```

## Fix

- `no-strategy` (advice): for a single device.
- `larger-batch` (advice): for several: as much per replica as one device would get
  alone. That trains differently, with another learning rate.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes.asking import captured_ms, launching, ms, tried
from feedline.causes.finding import Finding
from feedline.job.job import Job
from feedline.measure.measurement import Measurement

CONCERNS = ("overhead", "compute", "transfer", "input")
FIXES: tuple[str, ...] = ("no-strategy", "larger-batch")


def detect(job: Job, measured: Measurement) -> Iterator[Finding]:
    single = tried(measured, "step:no-strategy")
    if single is None and measured.capture and len(measured.capture.units) > 1:
        yield from _captured(job, measured)
        return
    if job.strategy is None:
        return
    over = "1 device" if job.replicas == 1 else f"{job.replicas} replicas"
    if single is not None:
        cost = min(single.gain, measured.step.observed.value)
        evidence = (
            f"{job.strategy} over {over} takes {ms(single.before.value)} per step; the "
            f"same step on the same input without it takes {ms(single.after.value)}."
        )
    else:
        cost = launching(measured) if job.replicas > 1 else 0.0
        evidence = (
            f"{job.strategy} over {over}: {ms(cost)} of the "
            f"{ms(measured.step.ceiling.value)} of a step do not depend on how much "
            "each replica has to do."
        )
    yield Finding("starved-replicas", cost, evidence, job.where, FIXES)


def _captured(job: Job, measured: Measurement) -> Iterator[Finding]:
    capture = measured.capture
    units = capture.units if capture is not None else ()
    cost = captured_ms(measured, "exchange")
    busy = ", ".join(f"{unit.name} {100 * unit.busy:.0f} %" for unit in units[:8])
    evidence = (
        f"Devices exchange data or wait for each other for {ms(cost)} of a step. Busy "
        f"computing: {busy} of the time."
    )
    yield Finding("starved-replicas", cost, evidence, job.where, FIXES)
