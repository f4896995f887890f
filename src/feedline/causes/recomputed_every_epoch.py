"""The same elements are computed again in every epoch

## What it is

The front part of the pipeline reads, decodes or parses, always with the same result,
and no `cache` keeps that result; or a `cache` comes too early, before the expensive
work.

## Why it is slow

From the second epoch on, all that CPU time gives nothing new. The best place for a
cache is as near the end as possible, but before the first stage that draws random
numbers or shuffles, prints, counts or reads a variable: what may differ in every epoch
must not be kept. Where file names are shuffled and decoded after that, the decoding can
go before the shuffle: each file still gives the same picture.

## Example

```python
dataset = tf.data.TFRecordDataset(files).cache().map(parse_and_decode)
dataset = dataset.shuffle(1000).map(augment).batch(32)
```

## Use instead

```python
dataset = tf.data.TFRecordDataset(files).map(parse_and_decode).cache()
dataset = dataset.shuffle(1000).map(augment).batch(32)
```

## Fix

- `cache` (exact, reordered): in memory where the elements fit into half of what is
  free, else in a file on a local disk. Files are checked again in every epoch. The
  first epoch is as slow as before. Reordered where the pipeline is not deterministic:
  one order is kept for all epochs.
- `cache-before-shuffle` (exact): where names are shuffled first and decoded after that,
  the decoding goes before the shuffle, with a cache between the two.
- `cache-undrawn` (exact): where a random map first does work that is always the same,
  that part is kept and only the draws are made again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from feedline.causes.asking import (
    Seen,
    ms,
    passes,
    seen,
    steps_per_pass,
    upstream,
    without,
)
from feedline.causes.finding import Finding
from feedline.files.sizes import size
from feedline.job.job import Job
from feedline.job.tfdata import ops
from feedline.job.tfdata.constant import shuffle_before, why_not_same
from feedline.job.tfdata.ops import Fact
from feedline.job.tfdata.pipeline import Stage
from feedline.measure.measurement import Measurement, StageCost
from feedline.measure.predict import saving

FIXES: tuple[str, ...] = ("cache", "cache-before-shuffle", "cache-undrawn")


class Place(NamedTuple):
    """Where a cache may stand: after `point`, sparing all of `front`."""

    worth: float
    saved: float
    point: Seen
    front: list[Seen]
    kept: float
    on_disk: bool


def best_place(job: Job, measured: Measurement) -> Place | None:
    """The place where a cache saves most, None where it saves nothing."""
    steps = steps_per_pass(job, measured)
    if steps is None or passes(job) <= 1:
        return None
    memory = measured.machine.free_memory_gb * 1e9 / 2
    best: Place | None = None
    for point in seen(job, measured):
        front = _front(job, measured, point)
        kept = _bytes(point) * point.cost.elements_per_batch * steps
        if not front or kept <= 0:
            continue
        on_disk = kept > memory
        saved = saving(measured, _kept(measured, point, front, on_disk=on_disk))
        # Memory, unless a file nearer the end would save twice as much.
        worth = saved / 2 if on_disk else saved
        if saved > 0 and (best is None or worth >= best.worth):
            best = Place(worth, saved, point, front, kept, on_disk)
    return best


def detect(job: Job, measured: Measurement) -> Iterator[Finding]:
    best = best_place(job, measured)
    if best is not None:
        point = best.point
        work = sum(e.cost.ms_per_batch * e.cost.busy for e in best.front)
        place = "only a local disk can hold" if best.on_disk else "fits into memory"
        evidence = (
            f"Every epoch repeats {ms(work)} of CPU per step up to "
            f"{point.stage.label()}, with the same result. A cache after it"
            f"{_moved(point.stage)} needs "
            f"{size(best.kept)}, which {place}."
        )
        where = point.where(job)
        named = tuple(_named(job, point.stage))
        yield Finding("recomputed-every-epoch", best.saved, evidence, where, named)


def _moved(stage: Stage) -> str:
    shuffle = shuffle_before(stage)
    return f", with {shuffle.label()} behind the two," if shuffle else ""


def _named(job: Job, point: Stage) -> Iterator[str]:
    """The caches that this pipeline has a place for."""
    plain, before_shuffle, undrawn = FIXES
    if shuffle_before(point) is None:
        yield plain
    stages = list(job.pipeline.stages()) if job.pipeline else []
    if any(stage.op == ops.MAP and shuffle_before(stage) for stage in stages):
        yield before_shuffle
    if any(s.op == ops.MAP and s.random and not s.python for s in stages):
        yield undrawn


def _front(job: Job, measured: Measurement, point: Seen) -> list[Seen]:
    """All that a cache after this point would save; nothing where it may not be."""
    shuffle = shuffle_before(point.stage)
    if shuffle is None and why_not_same(point.stage):
        return []
    if point.stage.op == ops.PREFETCH:
        return []
    known = {id(each) for each in upstream(point.stage) if each is not shuffle}
    front = [each for each in seen(job, measured) if id(each.stage) in known]
    total = sum(each.cost.ms_per_batch for each in front)
    work = sum(e.cost.ms_per_batch for e in front if not e.stage.has(Fact.PLUMBING))
    return front if work > total / 2 else []


def _bytes(point: Seen) -> float:
    """Bytes of one element, 0 where nobody knows."""
    widths = [each.bytes or 0 for each in point.stage.spec]
    return point.cost.bytes_per_element or (float(sum(widths)) if all(widths) else 0.0)


def _kept(
    measured: Measurement, point: Seen, front: list[Seen], *, on_disk: bool
) -> tuple[StageCost, ...]:
    """The stages when a cache hands out what the front made. Memory hands it out
    for nothing; a disk at the rate at which the job's own files stream."""
    costs = without(measured, [each.cost for each in front])
    if not on_disk or measured.files is None or measured.files.mb_per_s <= 0:
        return costs
    needed = _bytes(point) * point.cost.elements_per_batch
    streaming = needed / measured.files.mb_per_s / 1e3
    reading = replace(point.cost, ms_per_batch=streaming)
    place = measured.stages.index(point.cost)
    return (*costs[:place], reading, *costs[place + 1 :])
