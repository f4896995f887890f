"""The step goes through a whole embedding table for a few rows of it

## What it is

A batch looks up a few thousand rows of an embedding table, but a step reads or writes
all of them. Most optimizers update every row: they decay its moments, or turn the
sparse gradient into one as large as the table. Plain SGD writes only the touched rows,
but the look-up reads all of them.

## Why it is slow

The time grows with the vocabulary and not with the batch. Adam reads and writes the
table and its two moments in every step; at 500,000 words of 100 numbers that is 600 MB
of memory each way, and it takes a hundred times as long as the rest of the step. With
SGD, TensorFlow marks the table as written by rows, and from then on copies all of it
whenever it is read as a whole, which is how Keras' `Embedding` reads it. The input
pipeline is often blamed for both.

## Example

```python
model = tf.keras.Sequential([
    tf.keras.layers.Embedding(500_000, 100),
    tf.keras.layers.GlobalAveragePooling1D(),
    tf.keras.layers.Dense(1),
])
model.compile(optimizer="adam", loss="mse")
```

## Use instead

```python
gradient = tape.gradient(loss, table)  # tf.IndexedSlices: the rows of the batch
step = tf.IndexedSlices(rate * gradient.values, gradient.indices)
table.scatter_sub(step)  # SGD; for Adam the same with its moments
rows = tf.nn.embedding_lookup(table, ids)  # reads these rows, not the table
```

## Fix

- `row-sparse-embedding` (exact for SGD and Adagrad; numeric for Adam and momentum):
  only the rows of the batch are updated. Adam and momentum also move rows that a batch
  does not touch; here these wait until a batch does.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes.asking import in_step, ms
from feedline.causes.finding import Finding
from feedline.job.job import Job
from feedline.measure.measurement import Measurement

CONCERNS = ("compute", "overhead")
FIXES: tuple[str, ...] = ("row-sparse-embedding",)


def detect(job: Job, measured: Measurement) -> Iterator[Finding]:
    for table in measured.tables:
        cost = in_step(measured, table.update - table.update_touched_only)
        evidence = (
            f"Looking up and updating {table.name} with {table.optimizer} takes "
            f"{ms(table.update)} per step with its {table.rows:,} rows of "
            f"{table.dim:,} numbers, and {ms(table.update_touched_only)} with just "
            f"the {table.touched:,} rows that a batch touches."
        )
        where = table.where or job.step_where or job.where
        yield Finding("dense-embedding-update", cost, evidence, where, FIXES)
