"""Integers become floats before they are copied to the device

## What it is

The last `map` casts integers (pixels, ids) to floating point on the host, so that
the copy to the accelerator carries four bytes where one would do.

## Why it is slow

The copy runs over a bus that is far slower than the memory on either side of it.
Four times the bytes take four times as long, and the cast itself is work that the
device does for almost nothing.

## Example

```python
def prepare(image, label):
    return tf.cast(image, tf.float32) / 255.0, label

model = tf.keras.Sequential([tf.keras.layers.Conv2D(32, 3)])
model.fit(dataset.map(prepare).batch(64))
```

## Use instead

```python
model = tf.keras.Sequential([
    tf.keras.layers.Rescaling(1.0 / 255.0),
    tf.keras.layers.Conv2D(32, 3),
])
model.fit(dataset.batch(64))
```

## Fix

- `cast-on-device` (exact): the same cast of the same numbers, after the copy.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes.asking import ms, seen
from feedline.causes.finding import Finding
from feedline.files.sizes import size
from feedline.job.job import Job
from feedline.job.tfdata import ops
from feedline.job.tfdata.pipeline import TensorSpec
from feedline.measure.measurement import Measurement

CONCERNS = ("transfer", "input")
FIXES: tuple[str, ...] = ("cast-on-device",)


def detect(job: Job, measured: Measurement) -> Iterator[Finding]:
    maps = [each for each in seen(job, measured) if each.stage.op == ops.MAP]
    if not measured.machine.accelerated or not maps or maps[-1].stage.random:
        return
    stage = maps[-1].stage
    before, after = stage.inputs[0].spec if stage.inputs else (), stage.spec
    if len(before) != len(after):
        return
    wide = sum(_width(spec) for spec in after)
    narrow = sum(
        _width(old) if _is_cast(old, new) else _width(new)
        for old, new in zip(before, after, strict=True)
    )
    if narrow < wide:
        step = measured.step
        host_fed = min(step.host_fed.value, step.observed.value)
        transfer = max(0.0, host_fed - step.ceiling.value)
        saved = transfer * (1 - narrow / wide)
        evidence = (
            f"{stage.label()} turns {size(narrow)} per element into {size(wide)} "
            f"before the copy to the device, which takes {ms(transfer)} per step; "
            f"{ms(saved)} of it copies nothing new."
        )
        yield Finding("wide-transfer", saved, evidence, maps[-1].where(job), FIXES)


def _is_cast(old: TensorSpec, new: TensorSpec) -> bool:
    integer = old.dtype.startswith(("int", "uint", "bool"))
    return integer and "float" in new.dtype and old.shape == new.shape


def _width(spec: TensorSpec) -> int:
    """Bytes, an unknown length counted as 1: it is the batch's, alike in all."""
    known = tuple(length or 1 for length in spec.shape or ())
    return TensorSpec(spec.dtype, known).bytes or 0
