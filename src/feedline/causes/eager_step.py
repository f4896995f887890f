"""The step runs operation by operation from Python

## What it is

The training step is not compiled into a graph: a custom loop without
`tf.function`, or a Keras model compiled with `run_eagerly=True`.

## Why it is slow

Python starts every single operation, forward, backward and in the optimizer:
hundreds or thousands of calls a step, of ten microseconds and more each. Nothing
runs in parallel, nothing is fused, and an accelerator waits between any two.

## Example

```python
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_of(y, model(x, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
```

## Use instead

```python
@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_of(y, model(x, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
```

## Fix

- `compile-step` (exact where the weights come out the same, bit for bit, else
  numeric): the same operations as one graph. In a loop of your own `feedline run`
  compiles the part that takes the gradients, if its source shows that a graph means
  the same: Python such as `print` would run only during tracing.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes.asking import in_step, launching, ms, tried
from feedline.causes.finding import Finding
from feedline.job.job import Job
from feedline.measure.measurement import Measurement

CONCERNS = ("overhead", "compute")
FIXES: tuple[str, ...] = ("compile-step",)


def detect(job: Job, measured: Measurement) -> Iterator[Finding]:
    compiled = tried(measured, "step:compiled")
    if not job.eager:
        return
    if compiled is not None:
        cost = in_step(measured, compiled.gain)
        evidence = (
            f"The step takes {ms(compiled.before.value)} run from Python and "
            f"{ms(compiled.after.value)} as one graph."
        )
    else:
        cost = launching(measured)
        evidence = (
            f"{ms(cost)} of each {ms(measured.step.ceiling.value)} step does not "
            "depend on the batch: Python starts the operations one by one."
        )
    where = job.step_where or job.where
    yield Finding("eager-step", cost, evidence, where, FIXES)
