"""Operations of the step run on the CPU while the device waits

## What it is

Some operations of the step have no kernel for the device, or were placed on the CPU:
strings, lookups, `py_function`, a metric that counts on the host. Their inputs are
copied from the device, their results back to it.

## Why it is slow

The device waits for both copies and for the CPU between them. One small operation in
the middle of a step can cost more than the large ones around it.

## Example

```python
@tf.function
def train_step(words, labels):
    ids = table.lookup(words)  # strings: only on the CPU
    return train_on(ids, labels)
```

## Use instead

```python
def look_up(words, labels):
    return table.lookup(words), labels

dataset = dataset.map(look_up, num_parallel_calls=tf.data.AUTOTUNE)

@tf.function
def train_step(ids, labels):
    return train_on(ids, labels)
```

## Fix

- `placement` (advice): move the operation into the input pipeline, where it runs ahead
  of the step, or write it with operations that the device has.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes.asking import captured_ms, in_step, ms
from feedline.causes.finding import Finding
from feedline.job.job import Job
from feedline.measure.measurement import Measurement

CONCERNS = ("compute",)
FIXES: tuple[str, ...] = ("placement",)


def detect(job: Job, measured: Measurement) -> Iterator[Finding]:
    capture = measured.capture
    if capture is None or not capture.accelerated or not capture.host_ops:
        return
    cost = in_step(measured, captured_ms(measured, "host-op"))
    names = ", ".join(f"{name} {ms(took)}" for name, took in capture.host_ops[:3])
    back = capture.copy("copy-out")
    copies = ""
    if back is not None and back.count >= 1:
        often = "once" if round(back.count) == 1 else f"{back.count:.0f} times"
        copies = f" Each step copies from the device {often}."
    evidence = (
        f"The CPU runs operations of the step for {ms(cost)} while no device computes: "
        f"{names}.{copies}"
    )
    yield Finding("host-device-pingpong", cost, evidence, job.step_where, FIXES)
