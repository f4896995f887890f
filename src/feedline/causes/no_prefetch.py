"""Input and training step take turns because nothing works ahead

## What it is

A pipeline whose last work is done only when the training step asks for it. There is no
prefetch after it, neither yours nor one that TensorFlow adds (`inject_prefetch` does so
at the end of most pipelines, but not when the optimisations or autotuning are off).

## Why it is slow

While the batch is made the step waits, and while the step computes no batch is made.
The two times add up, although they need different resources. A prefetch hides the
shorter one behind the longer. It cannot do more: when making a batch takes longer than
the step, the step still waits for the rest.

## Example

```python
options = tf.data.Options()
options.experimental_optimization.apply_default_optimizations = False
dataset = dataset.map(decode).batch(32).with_options(options)
```

## Use instead

```python
dataset = dataset.map(decode).batch(32).prefetch(tf.data.AUTOTUNE)
```

## Fix

- `prefetch` (exact): the same elements in the same order; a few batches more in memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes.asking import PREFETCH, ms
from feedline.causes.finding import Finding
from feedline.job.job import Job
from feedline.measure.measurement import Measurement
from feedline.measure.predict import saving

FIXES: tuple[str, ...] = ("prefetch",)


def detect(job: Job, measured: Measurement) -> Iterator[Finding]:
    if job.pipeline is None:
        return
    in_turns = 0.0  # the work since the last stage that runs ahead of the step
    for cost in measured.stages:
        in_turns = 0.0 if cost.asynchronous else in_turns + cost.ms_per_batch
    saved = saving(measured, (*measured.stages, PREFETCH))
    if saved > 0:
        evidence = (
            f"Nothing works ahead of the step: {ms(in_turns)} of input and "
            f"{ms(measured.step.ceiling.value)} of training take turns; overlapped, a "
            f"step would take {ms(saved)} less."
        )
        where = job.pipeline.root.where or job.where
        yield Finding("no-prefetch", saved, evidence, where, FIXES)
