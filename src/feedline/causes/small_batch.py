"""The batch is so small that most of a step does not depend on it

## What it is

A step takes about as long with twice or four times as many examples: it consists mostly
of what every step costs, whatever it computes.

## Why it is slow

Launching operations, reading weights and writing them back cost the same for 32
examples as for 256. A larger batch shares that among more examples, and uses vector
units and cores that a small one leaves idle.

## Example

```python
dataset = dataset.batch(32)
model.compile(optimizer=tf.keras.optimizers.Adam(1e-3), loss="mse")
```

## Use instead

```python
dataset = dataset.batch(256)
model.compile(optimizer=tf.keras.optimizers.Adam(3e-3), loss="mse")
```

## Fix

- `larger-batch` (advice): fewer and larger steps train differently. The learning rate
  must be tuned again, and the result may be better or worse.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes.asking import in_step, launching, ms, table_updates, tried
from feedline.causes.finding import Finding
from feedline.job.job import Job
from feedline.measure.measurement import Measurement

CONCERNS = ("overhead", "compute", "input")
FIXES: tuple[str, ...] = ("larger-batch",)
LAST_RESORT = True


def detect(job: Job, measured: Measurement) -> Iterator[Finding]:
    step = measured.step
    own = step.batch_size or job.batch_size
    larger = [(size, took) for size, took in step.curve if own and size > own]
    if not own or not larger:
        return
    now = dict(step.curve).get(own, step.ceiling.value)
    # A table that is rewritten as a whole, and the launching of a step, are shared
    # out by a larger batch as well. But those are causes of their own, with cures
    # that leave the training as it is.
    several = tried(measured, "step:steps-per-execution")
    launch = several.gain if several is not None else launching(measured)
    fixed = min(table_updates(measured) + launch, now)

    def gained(size: int, took: float) -> float:
        return now - took * own / size - fixed * (1 - own / size)

    size, took = max(larger, key=lambda point: gained(*point))
    gain = gained(size, took)
    if gain < 0.5 * now * (1 - own / size):
        return  # more than half of the step grows with the batch, or has its cause
    evidence = (
        f"A step of {own:,} examples takes {ms(now)} and one of {size:,} takes "
        f"{ms(took)}: {ms(took * own / size)} for each {own:,}."
    )
    where = job.where
    yield Finding("small-batch", in_step(measured, gain), evidence, where, FIXES)
