"""The step's function is traced again and again

## What it is

A `tf.function` that is built again during training, because it is called with a shape,
a Python number or an object that it has not seen before.

## Why it is slow

Tracing runs the Python code of the whole step and optimises the graph, which takes from
tenths of a second to minutes; and the graph is then used once or twice.

## Example

```python
@tf.function
def train_step(batch, step):
    return model(batch) * step

for step, batch in enumerate(dataset):
    train_step(batch, step)
```

## Use instead

```python
@tf.function(reduce_retracing=True)
def train_step(batch, step):
    return model(batch) * step

for step, batch in enumerate(dataset):
    train_step(batch, tf.constant(step, tf.float32))
```

## Fix

- `reduce-retracing` (exact where the bits are equal, else numeric): one trace with open
  lengths, where only shapes change.
- `fixed-signature` (advice): numbers are passed as tensors, lengths may vary in the
  signature.
- `pad-shapes` (advice): batches padded to a few lengths; the padding must be masked
  wherever it would count.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes.asking import ms
from feedline.causes.finding import Finding
from feedline.job.job import Job
from feedline.measure.measurement import Measurement

CONCERNS = ("overhead", "compute")
FIXES: tuple[str, ...] = ("reduce-retracing", "fixed-signature", "pad-shapes")


def detect(job: Job, measured: Measurement) -> Iterator[Finding]:
    worst = max(job.retraces, key=lambda retrace: retrace.count, default=None)
    if worst is None:
        return
    reason = f" ({worst.reason})" if worst.reason else ""
    when = "in the capture" if measured.only_observed else "after the loop was warm"
    times = "once more" if worst.count == 1 else f"{worst.count:,} times"
    evidence = (
        f"{worst.function} was traced {times} {when}"
        f"{reason}; tracing takes {ms(measured.trace_ms)} per step."
    )
    cost = min(measured.trace_ms, measured.step.observed.value)
    where = worst.where or job.step_where or job.where
    yield Finding("retracing", cost, evidence, where, FIXES)
