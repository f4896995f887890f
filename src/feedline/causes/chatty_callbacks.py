"""Callbacks run Python after every batch while training waits

## What it is

Callbacks of `Model.fit` that do something for every batch: log, write, print,
compute a metric in Python, save.

## Why it is slow

`fit` calls them between two steps and starts the next step only when they are
done. Reading a loss or a weight also waits until the device has finished, so
nothing can be started ahead.

## Example

```python
class Log(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        writer.write(f"{batch} {logs['loss']}")

model.fit(dataset, callbacks=[Log()])
```

## Use instead

```python
class Log(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch % 100 == 0:
            writer.write(f"{batch} {logs['loss']}")

model.fit(dataset, callbacks=[Log()])
```

## Fix

- `fewer-callbacks` (advice): act every hundredth batch or once an epoch. The
  training is the same, the log has fewer lines.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes.asking import batch_callbacks, ms
from feedline.causes.finding import Finding
from feedline.job.job import Job
from feedline.measure.measurement import Measurement

CONCERNS = ("overhead",)
FIXES: tuple[str, ...] = ("fewer-callbacks",)


def detect(job: Job, measured: Measurement) -> Iterator[Finding]:
    users = batch_callbacks(job)
    if job.kind != "fit" or not users:
        return
    cost = min(measured.step.host_work, measured.step.observed.value)
    evidence = (
        f"Between two steps Python runs for {ms(cost)}, in {', '.join(users)}, while "
        f"a step takes {ms(measured.step.ceiling.value)}."
    )
    yield Finding("chatty-callbacks", cost, evidence, job.where, FIXES)
