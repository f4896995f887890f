"""The model computes in float32 where half precision would do

## What it is

A model in single precision on a GPU with tensor cores, which multiply matrices in half
precision several times as fast.

## Why it is slow

The fast units are idle, and every number takes twice the memory traffic.

## Example

```python
model = make_model()
model.compile(optimizer="adam", loss="mse")
```

## Use instead

```python
tf.keras.mixed_precision.set_global_policy("mixed_float16")
model = make_model()  # the last layer: dtype="float32"
model.compile(optimizer="adam", loss="mse")
```

## Fix

- `mixed-precision` (numeric): products are rounded to 16 bits, weights stay in 32.
  Losses are scaled so that small gradients do not vanish; check that the result is as
  good.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes.asking import in_step, ms
from feedline.causes.finding import Finding
from feedline.job.job import Job
from feedline.measure.measurement import Measurement
from feedline.measure.profile.kernels import precision

CONCERNS = ("compute",)
FIXES: tuple[str, ...] = ("mixed-precision",)


def detect(job: Job, measured: Measurement) -> Iterator[Finding]:
    if not measured.matmuls and measured.capture is not None:
        yield from _captured(job, measured)
        return
    half = {layer.name for layer in job.layers if "16" in layer.compute_dtype}
    tried = [
        (matmul.as_is, matmul.half)
        for matmul in measured.matmuls
        if matmul.half is not None and matmul.layer not in half
    ]
    if not tried or not measured.machine.tensor_cores:
        return
    before = sum(single for single, _ in tried)
    after = sum(min(single, fast) for single, fast in tried)
    evidence = (
        f"The matrix products of {len(tried)} layers take {ms(before)} per step in "
        f"single precision and {ms(after)} in half."
    )
    cost = in_step(measured, before - after)
    yield Finding("precision", cost, evidence, job.where, FIXES)


def _captured(job: Job, measured: Measurement) -> Iterator[Finding]:
    """By the kernels' names. That half precision takes half the time is an estimate:
    half the bytes; tensor cores often do better."""
    capture = measured.capture
    if capture is None or not any(unit.tensor_cores for unit in capture.units):
        return
    if capture.kernels.choosing:
        return  # trial runs of cuDNN's are not the step
    single = capture.kernels.single
    cost = in_step(measured, single / 2)
    names = [name for name, _ in capture.kernels.longest if precision(name) == "single"]
    example = f" ({names[0][:60]})" if names else ""
    evidence = (
        f"Matrix kernels in float32{example} take {ms(single)} of a step on a device "
        "whose tensor cores stay idle. The cost is an estimate, half of that time: it "
        "was not tried."
    )
    yield Finding("precision", cost, evidence, job.where, FIXES)
