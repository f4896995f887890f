"""The loss compares every example with every word of a large vocabulary

## What it is

The last layer has one output for each of many thousands of classes, and the softmax
over all of them is computed, and differentiated, in every step.

## Why it is slow

The work is batch x dimension x classes, forward and twice backward, and the optimizer
updates a weight matrix of that many columns. A loss that compares the right class with
a few dozen random ones does a thousandth of it.

## Example

```python
model = tf.keras.Sequential([
    tf.keras.layers.Embedding(100_000, 100),
    tf.keras.layers.Flatten(),
    tf.keras.layers.Dense(100_000),
])
```

## Use instead

```python
loss = tf.nn.sampled_softmax_loss(
    weights, biases, labels, hidden, num_sampled=64, num_classes=100_000
)
```

## Fix

- `sampled-loss` (advice): a noisy estimate of the same gradient. The value of the loss
  is not comparable with the full one, so evaluate with the full softmax.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes.asking import in_step, ms
from feedline.causes.finding import Finding
from feedline.job.job import Job
from feedline.measure.measurement import Measurement

CONCERNS = ("compute", "overhead")
FIXES: tuple[str, ...] = ("sampled-loss",)


def detect(job: Job, measured: Measurement) -> Iterator[Finding]:
    softmax = measured.softmax
    if softmax is None:
        return
    cost = in_step(measured, softmax.full - softmax.sampled)
    evidence = (
        f"{softmax.layer} over all {softmax.classes:,} classes takes "
        f"{ms(softmax.full)} per step, over a sample of them {ms(softmax.sampled)}."
    )
    yield Finding("full-softmax", cost, evidence, job.step_where or job.where, FIXES)
