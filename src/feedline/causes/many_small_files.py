"""Opening many small files takes longer than reading them

## What it is

Every element is its own file (an image, a document), and the files are so small that
finding and opening one takes longer than reading it.

## Why it is slow

Opening asks the file system for a path, for permissions and for the first block; on a
network or object store each of these is a round trip. That costs the same for a file of
ten bytes and for one of a hundred megabytes, so thousands of small files pay thousands
of times, and a faster disk does not help.

## Example

```python
def load(path):
    return tf.io.decode_jpeg(tf.io.read_file(path))

dataset = tf.data.Dataset.list_files("images/*.jpg").map(load)
```

## Use instead

```python
with tf.io.TFRecordWriter("images.tfrecord") as writer:  # once
    for path in tf.io.gfile.glob("images/*.jpg"):
        writer.write(tf.io.read_file(path).numpy())

dataset = tf.data.TFRecordDataset("images.tfrecord").map(tf.io.decode_jpeg)
```

## Fix

- `pack` (advice): the same data in a few large shards, written once; needs as much disk
  again.
- `interleave` (exact where the order is kept, else reordered): opens the next files
  while the current ones are read; it hides the opening, it does not avoid it.
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

FIXES: tuple[str, ...] = ("pack", "interleave")


def detect(job: Job, measured: Measurement) -> Iterator[Finding]:
    files, found = measured.files, opener(job, measured)
    if files is None or found is None or files.files < 2 or files.mb_per_s <= 0:
        return
    reading = files.mean_bytes / files.mb_per_s / 1e3
    opening = min(files.files_per_step * files.open_ms, found.cost.ms_per_batch)
    if files.open_ms <= reading:
        return
    rest = replace(found.cost, ms_per_batch=found.cost.ms_per_batch - opening)
    saved = min(opening, saving(measured, replaced(measured, found.cost, rest)))
    evidence = (
        f"A step opens {files.files_per_step:,.1f} of {files.files:,} files of "
        f"{size(files.mean_bytes)}; opening one takes {ms(files.open_ms)}, reading it "
        f"{ms(reading)}: {ms(opening)} per step for opening alone."
    )
    yield Finding("many-small-files", saved, evidence, found.where(job), FIXES)
