"""Matrix sizes do not fit the tensor cores

## What it is

A layer whose matrices have a size that is not a multiple of 8 (a vocabulary of 50,257,
a batch of 33), on a GPU whose tensor cores work in blocks of 8 or more.

## Why it is slow

A product that does not fit is computed by the ordinary cores, or with blocks that are
partly empty and copies that align the rows. A few more columns can halve the time.

## Example

```python
output = tf.keras.layers.Dense(50_257)
```

## Use instead

```python
output = tf.keras.layers.Dense(50_264)  # the next multiple of 8; 7 are unused
```

## Fix

- `pad-shapes` (advice): the padding must not count; sums are rounded in another order.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes.asking import in_step, ms
from feedline.causes.finding import Finding
from feedline.job.job import Job
from feedline.measure.measurement import Measurement

CONCERNS = ("compute",)
FIXES: tuple[str, ...] = ("pad-shapes",)


def detect(job: Job, measured: Measurement) -> Iterator[Finding]:
    if not measured.matmuls and measured.capture is not None:
        yield from _captured(job, measured)
        return
    gains = [
        (matmul.as_is - matmul.padded, matmul)
        for matmul in measured.matmuls
        if matmul.padded is not None and any(length % 8 for length in matmul.shape)
    ]
    gains = [(gain, matmul) for gain, matmul in gains if gain > 0]
    if not gains or not measured.machine.tensor_cores:
        return
    cost = in_step(measured, sum(gain for gain, _ in gains))
    _, worst = max(gains, key=lambda pair: pair[0])
    shape = " x ".join(f"{length:,}" for length in worst.shape)
    evidence = (
        f"{worst.layer} multiplies {shape}, not multiples of 8: {ms(worst.as_is)} per "
        f"step, padded {ms(worst.padded or 0.0)}. All such layers: {ms(cost)}."
    )
    yield Finding("misaligned-shapes", cost, evidence, job.where, FIXES)


def _captured(job: Job, measured: Measurement) -> Iterator[Finding]:
    """By the kernels' names: half precision without tensor cores, or in accesses
    of one to four elements. Half of their time is an estimate."""
    capture = measured.capture
    if capture is None or not any(unit.tensor_cores for unit in capture.units):
        return
    slow = capture.kernels.misaligned
    evidence = (
        f"Matrix kernels in half precision that cannot use the tensor cores fully, by "
        f"their names, take {ms(slow)} of a step. The cost is an estimate, half of "
        "that time: it was not tried."
    )
    cost = in_step(measured, slow / 2)
    yield Finding("misaligned-shapes", cost, evidence, job.where, FIXES)
