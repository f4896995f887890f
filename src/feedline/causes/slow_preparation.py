"""The run spends its time before the first step

## What it is

The script prepares for a large part of its run: eager preprocessing in a Python loop,
an `adapt()` that goes through all the data, pairs generated in Python, data converted
again in every run.

## Why it is slow

However fast a step is, training starts only after this. Python handles one item at a
time on one core, and the next run does it all again.

## Example

```python
pairs = []
for sentence in sentences:
    for left, right in zip(sentence, sentence[1:]):
        pairs.append((vocabulary[left], vocabulary[right]))
dataset = tf.data.Dataset.from_tensor_slices(np.array(pairs))
```

## Use instead

```python
ids = table.lookup(tf.ragged.constant(sentences))
pairs = tf.stack([ids[:, :-1].flat_values, ids[:, 1:].flat_values], axis=1)
dataset = tf.data.Dataset.from_tensor_slices(pairs)
dataset.save("prepared")  # the next run: tf.data.Dataset.load("prepared")
```

## Fix

- `prepare-once` (advice): keep what was prepared on disk and load it in the next run;
  it must be redone when the data changes.
- `vectorize-preparation` (advice): whole arrays in place of a loop over items, or a
  `map` of the pipeline, which works while the model trains.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes.finding import Finding
from feedline.job.job import Job
from feedline.measure.measurement import Measurement

FIXES: tuple[str, ...] = ("prepare-once", "vectorize-preparation")

_WORTH_SAYING_S = 3.0
_EPOCHS = 10


def detect(job: Job, measured: Measurement) -> Iterator[Finding]:
    run, observed = measured.run, measured.step.observed.value
    # Where the number of epochs is not known, ten of them stand for training.
    epochs = 1 if run.train_s is not None else _EPOCHS
    train_s = run.train_s if run.train_s is not None else run.epoch_s
    steps = job.total_steps if run.train_s is not None else job.steps_per_epoch
    if train_s is None or run.prepare_s < _WORTH_SAYING_S:
        return
    if run.prepare_s <= 0.5 * epochs * train_s:
        return
    steps = epochs * (steps or round(1e3 * train_s / max(observed, 1e-9)))
    what = "training" if run.train_s is not None else "an epoch"
    evidence = f"Preparing takes {run.prepare_s:.1f} s and {what} {train_s:.1f} s"
    where = job.where
    if run.slowest_lines:
        line = max(run.slowest_lines, key=lambda each: each.seconds)
        where = line.where
        code = f" `{where.code.strip()}`" if where.code.strip() else ""
        evidence += f"; {where}{code} alone takes {line.seconds:.1f} s"
    cost = 1e3 * run.prepare_s / max(steps, 1)
    yield Finding("slow-preparation", cost, f"{evidence}.", where, FIXES)
