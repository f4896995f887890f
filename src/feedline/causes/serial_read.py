"""Several files are read one after the other in one thread

## What it is

A source that reads records (`TFRecordDataset`, `TextLineDataset`, a CSV file, or an
`interleave` without parallel calls) goes through many files with a single thread, and
no other stage of the pipeline takes longer.

## Why it is slow

Reading waits for the disk or the network, checks every record and copies it. One thread
does these in turn, so a store that could serve ten files at once serves one, and one
core does all the work.

## Example

```python
files = sorted(tf.io.gfile.glob("data/*.tfrecord"))
dataset = tf.data.TFRecordDataset(files)
```

## Use instead

```python
files = sorted(tf.io.gfile.glob("data/*.tfrecord"))
dataset = tf.data.Dataset.from_tensor_slices(files).interleave(
    tf.data.TFRecordDataset,
    cycle_length=8,
    num_parallel_calls=tf.data.AUTOTUNE,
)
```

## Fix

- `interleave` (exact where an `interleave` is there already: it gets threads and keeps
  its order; reordered where files were read one after the other, because their records
  now alternate).
- `pack` (advice): if one file holds everything, write it as several shards.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes.asking import gain_of_threads, ms, reads_records, seen
from feedline.causes.finding import Finding
from feedline.job.job import Job
from feedline.job.tfdata.pipeline import Stage
from feedline.measure.measurement import Measurement

FIXES: tuple[str, ...] = ("interleave", "pack")
_SERIAL = (None, 0, 1)


def detect(job: Job, measured: Measurement) -> Iterator[Finding]:
    stages = seen(job, measured)
    slowest = max(stages, key=lambda each: each.cost.ms_per_batch, default=None)
    if slowest is None or not reads_records(slowest.stage):
        return
    stage, cost = slowest
    names = stage.args.get("filenames")
    files = len(names) if isinstance(names, list | tuple) else job.files or 0
    files = measured.files.files if measured.files else files
    if files < 2 or cost.parallelism > 1 or stage.python or _asks_for_several(stage):
        return
    threads = min(files, measured.machine.cores)
    saved = gain_of_threads(measured, cost, threads)
    evidence = (
        f"{stage.label()} reads {files:,} files in one thread, "
        f"{ms(cost.ms_per_batch)} per step, more than any other stage; with "
        f"{threads} threads the step would take {ms(saved)} less."
    )
    yield Finding("serial-read", saved, evidence, slowest.where(job), FIXES)


def _asks_for_several(stage: Stage) -> bool:
    """TensorFlow's own account of a reader does not tell its threads."""
    names = ("num_parallel_reads", "num_parallel_calls")
    return any(stage.args.get(name) not in _SERIAL for name in names)
