"""The input needs more CPU than this machine has

## What it is

All the work of the pipeline, spread perfectly over all cores, still takes longer than
the training step. No order of stages and no number of threads can feed this step from
this machine.

## Why it is slow

The cores are busy all the time and the step waits for them. What helps is less work (a
cache, work done once and written to disk, work moved to the device) or more cores.

## Example

```python
dataset = files.map(decode, num_parallel_calls=tf.data.AUTOTUNE)
dataset = dataset.batch(256).prefetch(tf.data.AUTOTUNE)
```

## Use instead

```python
dataset = files.map(decode, num_parallel_calls=tf.data.AUTOTUNE).batch(256)
dataset = dataset.apply(
    tf.data.experimental.service.distribute("distributed_epoch", "grpc://cpu-host:5000")
)
```

## Fix

- `scaled-decode` (numeric): a JPEG that is made smaller anyway is decoded small.
- `cropped-decode` (numeric): only the part of a JPEG that is kept is decoded.
- `crop-first` (exact): colours are changed after the crop, on fewer pixels.
- `filter-first` (exact): elements that are dropped are dropped before the work.
- `workers` (advice): `tf.data` service on further machines, with the number of cores
  that the evidence gives. The order of elements changes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from feedline.causes.asking import PREFETCH, ms, one_interpreter, seen, waiting
from feedline.causes.finding import Finding
from feedline.job.job import Job
from feedline.job.tfdata import ops
from feedline.job.tfdata.pipeline import Pipeline
from feedline.measure.measurement import Measurement, StageCost
from feedline.measure.predict import predict_step, saving

FIXES: tuple[str, ...] = (
    "scaled-decode",
    "cropped-decode",
    "crop-first",
    "filter-first",
    "workers",
)
LAST_RESORT = True


def detect(job: Job, measured: Measurement) -> Iterator[Finding]:
    cores, ceiling = max(1, measured.machine.cores), measured.step.ceiling.value
    cpu = measured.step.cpu or 0.0
    measured = one_interpreter(job, measured)
    work = sum(e.cost.ms_per_batch * e.cost.busy for e in seen(job, measured))
    beyond = work / cores - max(ceiling, cpu / cores)
    excess = (
        predict_step(measured.stages, ceiling_ms=ceiling, step_cpu_ms=cpu, cores=cores)
        - ceiling
    )
    if job.pipeline is None or beyond <= 0 or excess <= 0:
        return
    # The part of the wait that even perfect parallelism leaves: scaled to what was
    # observed just as `saving` is, so that it can be compared with its findings.
    # Where spreading the work gains about as much, that comes first.
    remains = min(beyond, waiting(measured) * min(1.0, beyond / excess))
    spread = saving(measured, _spread(measured, cores))
    spread -= saving(measured, (*measured.stages, PREFETCH))
    if spread > remains / 2:
        remains = min(remains, spread)
    evidence = (
        f"The input needs {ms(work)} of CPU per step, {ms(work / cores)} on "
        f"{cores} cores at best, and the step takes {ms(ceiling)}; to keep up it needs "
        f"about {math.ceil((work + cpu) / max(ceiling, 1e-3)):,} cores."
    )
    where = job.pipeline.root.where or job.where
    named = tuple(_named(job.pipeline))
    yield Finding("host-saturated", remains, evidence, where, named)


def _named(pipeline: Pipeline) -> Iterator[str]:
    """What would make less work of this pipeline's functions; more machines always."""
    scaled, cropped, late_colours, early_filter, more = FIXES
    used = {op for s in pipeline.stages() for f in s.functions for op in f.ops}
    if "DecodeJpeg" in used and any(op.startswith("Resize") for op in used):
        yield scaled
    if "DecodeJpeg" in used and used & {"Slice", "StridedSlice"}:
        yield cropped
    if "Slice" in used and used & {"AdjustHue", "AdjustSaturation"}:
        yield late_colours
    if any(each.inputs[0].op == ops.MAP for each in pipeline.find(ops.FILTER)):
        yield early_filter
    yield more


def _spread(measured: Measurement, cores: int) -> tuple[StageCost, ...]:
    return tuple(
        replace(each, parallelism=cores, asynchronous=True) for each in measured.stages
    )
