"""The device waits while a batch is copied to it

## What it is

A batch is copied from host memory to the device at the start of each step. The copy
delays the computing instead of overlapping with it.

## Why it is slow

The device computes nothing until the copy is done, though it could copy one batch
while it computes on another. From ordinary (pageable) memory the driver copies
everything twice and reaches about a quarter of the bus's speed.

## Example

```python
dataset = dataset.batch(128).prefetch(tf.data.AUTOTUNE)
```

## Use instead

```python
dataset = dataset.batch(128).apply(tf.data.experimental.prefetch_to_device("/gpu:0"))
```

## Fix

- `prefetch-to-device` (exact): the next batch is copied while this one is
  computed on.
- `cast-on-device` (exact): where the batch was made wider on the host (bytes into
  floats), only a quarter of it needs to be copied.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes.asking import captured_ms, ms
from feedline.causes.finding import Finding
from feedline.files.sizes import size
from feedline.job.job import Job
from feedline.measure.measurement import Measurement

CONCERNS = ("transfer",)
FIXES: tuple[str, ...] = ("prefetch-to-device", "cast-on-device")


def detect(job: Job, measured: Measurement) -> Iterator[Finding]:
    capture, step = measured.capture, measured.step
    copies = capture.copy("copy-in") if capture is not None else None
    if copies is None or not copies.bytes:
        return
    transfer = min(step.host_fed.value, step.observed.value) - step.ceiling.value
    cost = max(0.0, min(captured_ms(measured, "copy-in"), transfer))
    rate, bus = copies.gb_per_s, copies.bus
    speed = ""
    if rate is not None and bus is not None and copies.bytes >= 1e6:
        speed = f", {rate:.1f} GB/s where the bus carries about {bus:.0f}"
    memory = " from pageable memory" if copies.pinned is False else ""
    evidence = (
        f"{size(copies.bytes)} go to the device in each step{memory}, in "
        f"{ms(copies.ms)}{speed}. The device waits {ms(cost)} per step for it."
    )
    yield Finding("blocking-transfer", cost, evidence, job.where, FIXES)
