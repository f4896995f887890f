"""The storage delivers bytes more slowly than the step uses them

## What it is

Loading the bytes that one step needs takes longer than the step itself: a network
share, an object store, a spinning disk.

## Why it is slow

However well the pipeline is written, it cannot deliver data that has not arrived. More
threads help only as long as the store serves several requests faster than one; after
that the data must come nearer, or become smaller.

## Example

```python
dataset = tf.data.TFRecordDataset(tf.io.gfile.glob("/mnt/share/*.tfrecord"))
dataset = dataset.map(parse).batch(256)
```

## Use instead

```python
dataset = tf.data.TFRecordDataset(tf.io.gfile.glob("/mnt/share/*.tfrecord"))
dataset = dataset.cache("/local/disk/records").map(parse).batch(256)
```

## Fix

- `cache` (exact, reordered): on a local disk or in memory; the first epoch still reads
  from the slow storage.
- `pack` (advice): fewer and larger reads, and compressed records where the CPU has time
  left.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from feedline.causes.asking import ms, opener, replaced
from feedline.causes.finding import Finding
from feedline.files.sizes import size
from feedline.job.job import Job
from feedline.measure.measurement import Measurement
from feedline.measure.predict import saving

FIXES: tuple[str, ...] = ("cache", "pack")


def detect(job: Job, measured: Measurement) -> Iterator[Finding]:
    files, found = measured.files, opener(job, measured)
    if files is None or found is None or files.mb_per_s <= 0:
        return
    needed = files.files_per_step * files.mean_bytes
    streaming = needed / files.mb_per_s / 1e3
    if streaming <= measured.step.ceiling.value:
        return
    # Where the files come from memory already, the stage is faster than the store.
    spent = min(streaming, found.cost.ms_per_batch)
    rest = replace(found.cost, ms_per_batch=found.cost.ms_per_batch - spent)
    saved = min(spent, saving(measured, replaced(measured, found.cost, rest)))
    evidence = (
        f"A step needs {size(needed)}, which takes {ms(streaming)} at the "
        f"{files.mb_per_s:,.0f} MB/s of this storage; the step itself takes "
        f"{ms(measured.step.ceiling.value)}."
    )
    yield Finding("slow-storage", saved, evidence, found.where(job), FIXES)
