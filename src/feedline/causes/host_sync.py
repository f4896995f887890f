"""The loop stops after every step to look at its result

## What it is

A custom loop that reads a value of every step (`.numpy()`, `float(loss)`, `print`), or
does other Python work between two steps.

## Why it is slow

Python only starts a step on an accelerator, and can prepare the next while it runs.
Reading a value waits until the device has finished, so the device is idle until the
next step starts. On a CPU the Python between the steps simply adds to them.

## Example

```python
for batch in dataset:
    loss = train_step(batch)
    losses.append(loss.numpy())
```

## Use instead

```python
mean = tf.keras.metrics.Mean()
for step, batch in enumerate(dataset):
    mean.update_state(train_step(batch))
    if step % 100 == 0:
        losses.append(mean.result().numpy())
        mean.reset_state()
```

## Fix

- `fewer-syncs` (advice): keep values on the device and read them every hundredth step.
  The training is the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes.asking import ms
from feedline.causes.finding import Finding
from feedline.job.job import Job
from feedline.measure.measurement import Measurement

CONCERNS = ("overhead", "compute")
FIXES: tuple[str, ...] = ("fewer-syncs",)


def detect(job: Job, measured: Measurement) -> Iterator[Finding]:
    cost = min(measured.step.host_work, measured.step.observed.value)
    if job.kind == "fit" or cost <= 0:
        return  # the callbacks of fit are another cause
    reads = f"reads {job.syncs_per_step:.1f} values and " if job.syncs_per_step else ""
    evidence = (
        f"Between two steps the loop {reads}runs Python for {ms(cost)}, while a step "
        f"takes {ms(measured.step.ceiling.value)}."
    )
    yield Finding("host-sync", cost, evidence, job.where, FIXES)
