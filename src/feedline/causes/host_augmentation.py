"""Images are augmented on the CPU while the accelerator waits for them

## What it is

A `map` that flips, crops or recolours images at random, in front of a step on an
accelerator. A function given to `map` always runs on the CPU, even if it is written in
TensorFlow operations or wrapped in `tf.function`; to run on the device it must become
part of the step.

## Why it is slow

Augmentation touches every pixel several times. A few cores do that one image after the
other, while a device made for such work waits.

## Example

```python
def augment(image, label):
    return tf.image.random_flip_left_right(image), label

dataset = dataset.map(augment, num_parallel_calls=tf.data.AUTOTUNE).batch(64)
```

## Use instead

```python
model = tf.keras.Sequential([
    tf.keras.layers.RandomFlip("horizontal"),
    tf.keras.layers.Conv2D(32, 3),
])
model.fit(dataset.batch(64))
```

## Fix

- `augment-on-device` (numeric): the distributions stay the same, but a whole batch is
  drawn at once, and the device rounds differently.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes.asking import ms, seen, without
from feedline.causes.finding import Finding
from feedline.job.job import Job
from feedline.job.tfdata import ops
from feedline.job.tfdata.pipeline import Stage
from feedline.measure.measurement import Measurement
from feedline.measure.predict import saving

FIXES: tuple[str, ...] = ("augment-on-device",)


def detect(job: Job, measured: Measurement) -> Iterator[Finding]:
    if not measured.machine.accelerated:
        return  # the device is the host: nothing to move to
    for each in seen(job, measured):
        stage, cost = each
        if (
            stage.op != ops.MAP
            or not stage.random
            or stage.python
            or not _images(stage)
        ):
            continue
        saved = min(cost.ms_per_batch, saving(measured, without(measured, [cost])))
        evidence = (
            f"{stage.label()} augments on the CPU for {ms(cost.ms_per_batch)} per "
            f"step; on the device, inside the step, it would save {ms(saved)}."
        )
        yield Finding("host-augmentation", saved, evidence, each.where(job), FIXES)


def _images(stage: Stage) -> bool:
    return any(spec.shape is not None and len(spec.shape) >= 3 for spec in stage.spec)
