"""Validation takes a large part of every epoch

## What it is

`fit(validation_data=...)` goes through all of the validation data after every epoch. It
is read, decoded and tokenised again each time, by its own pipeline, which has no cache,
parallel maps or prefetch.

## Why it is slow

Training waits until the validation is over. Its images or texts give the same tensors
in every epoch, so from the second pass on that work is repeated for nothing; and a
validation step has no gradients, so it waits for its input sooner than a training step
does.

## Example

```python
valid = tf.data.Dataset.from_tensor_slices(files).map(decode).batch(32)
model.fit(train, epochs=50, validation_data=valid)
```

## Use instead

```python
valid = tf.data.Dataset.from_tensor_slices(files)
valid = valid.map(decode, num_parallel_calls=tf.data.AUTOTUNE).batch(32)
valid = valid.cache().prefetch(tf.data.AUTOTUNE)
model.fit(train, epochs=50, validation_data=valid)
```

## Fix

- `cache` (exact, reordered): what the validation reads is kept; only the first pass is
  as slow as before.
- `cache-before-shuffle` (exact): where names are shuffled first and decoded after that,
  the decoding goes before the shuffle and is kept.
- `parallel-map` (exact): its maps run on several cores.
- `prefetch` (exact): its next batch is prepared while the model works on this one.
- `keep-results` (exact): what a generator or a `PyDataset` computes is kept.
- `validate-less` (advice): not after every epoch, or on fewer batches.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes.finding import Finding
from feedline.job.job import Job
from feedline.measure.measurement import Measurement, ValidationTimes

CONCERNS: tuple[str, ...] = ()
FIXES: tuple[str, ...] = (
    "cache",
    "cache-before-shuffle",
    "parallel-map",
    "prefetch",
    "keep-results",
    "validate-less",
)
_DATASET: tuple[str, ...] = tuple(name for name in FIXES if name != "keep-results")
_PYTHON: tuple[str, ...] = ("keep-results", "validate-less")
_LESS: tuple[str, ...] = ("validate-less",)

_WAITS = 0.1  # of an epoch with its validation, for batches
_TAKES = 0.25  # of it, in all


def detect(job: Job, measured: Measurement) -> Iterator[Finding]:
    found = measured.validation
    if found is None or found.passes == 1:
        return
    epoch_s = _epoch_s(job, measured, found)
    if not epoch_s or found.per_epoch_s <= 0:
        return
    whole = epoch_s + found.per_epoch_s
    waits = (found.input_s or 0.0) * found.per_epoch_s / found.seconds
    steps = job.steps_per_epoch or epoch_s / _step_s(measured)
    takes = _text(found, epoch_s)
    if waits >= _WAITS * whole:
        named = _DATASET if found.data in ("dataset", "arrays") else _PYTHON
        cost, evidence = waits, f"{takes}, and waits {_waits(found)} for its input."
    elif found.per_epoch_s >= _TAKES * whole:
        named, cost, evidence = _LESS, found.per_epoch_s, f"{takes}."
    else:
        return
    where = found.where or job.where
    yield Finding("slow-validation", 1e3 * cost / max(steps, 1), evidence, where, named)


def _epoch_s(job: Job, measured: Measurement, found: ValidationTimes) -> float | None:
    """The training of an epoch, as it is without fixes where that was measured."""
    if measured.run.epoch_s is not None:
        return measured.run.epoch_s
    if job.steps_per_epoch:
        return job.steps_per_epoch * _step_s(measured)
    return found.epoch_s


def _step_s(measured: Measurement) -> float:
    return max(measured.step.observed.value, 1e-6) / 1e3


def _text(found: ValidationTimes, epoch_s: float) -> str:
    often = "each epoch" if found.every <= 1 else f"every {found.every:.3g} epochs"
    steps = f" over {found.steps:,} batches" if found.steps else ""
    takes = f"Validation takes {found.seconds:.3g} s{steps}"
    return f"{takes} after {often} of {epoch_s:.3g} s"


def _waits(found: ValidationTimes) -> str:
    return f"{found.input_s or 0.0:.3g} s of that"
