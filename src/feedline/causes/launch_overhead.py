"""Every step is launched by itself, and launching takes longer than it computes

## What it is

A step so small that the time goes into calling it: Python prepares the call, TensorFlow
checks its inputs and schedules the operations, results are wrapped, the progress bar
and the callbacks run.

## Why it is slow

Every step pays for that, whatever it computes, and the cores or the device are idle
meanwhile. Several steps in one call pay once.

## Example

```python
model.compile(optimizer="adam", loss="mse")
model.fit(dataset, epochs=10)
```

## Use instead

```python
model.compile(optimizer="adam", loss="mse", steps_per_execution=16)
model.fit(dataset, epochs=10)
```

## Fix

- `steps-per-execution` (exact): the same steps in the same order, up to 64 in a call;
  callbacks see the last of each. Give `compile` a number that divides your
  `steps_per_epoch` and `validation_steps`, or Keras goes past them. It also works in a
  loop of your own that contains only the step; in others, move the loop over the
  batches into the `tf.function` yourself.
- `jit-compile` (numeric): XLA fuses small operations into few; sums are rounded in
  another order.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes.asking import (
    batch_callbacks,
    captured_ms,
    in_step,
    launching,
    ms,
    tried,
)
from feedline.causes.finding import Finding
from feedline.job.job import Job
from feedline.measure.measurement import Measurement

CONCERNS = ("overhead",)
FIXES: tuple[str, ...] = ("steps-per-execution", "jit-compile")


def detect(job: Job, measured: Measurement) -> Iterator[Finding]:
    several, step = tried(measured, "step:steps-per-execution"), measured.step
    if job.eager:
        return  # compiling the step comes first
    if measured.only_observed:
        yield from _captured(job, measured)
    elif several is not None:
        # Between two calls `fit` does things of its own, and then once for 16 steps.
        around = 0.0 if batch_callbacks(job) else step.host_work
        cost = in_step(measured, several.gain + around * 15 / 16)
        evidence = (
            f"A step takes {ms(several.before.value + around)} when called alone and "
            f"{ms(several.after.value + around / 16)} when 16 run in one call."
        )
        yield Finding("launch-overhead", cost, evidence, job.where, FIXES)
    elif job.kind != "function" and job.steps_per_execution == 1 and job.replicas == 1:
        strategy = tried(measured, "step:no-strategy")
        without = strategy.gain if strategy is not None else 0.0
        cost = max(0.0, launching(measured) - without)  # the strategy's own part
        evidence = (
            f"{ms(cost)} of each {ms(step.ceiling.value)} step does not depend on the "
            "batch: starting a step takes longer than computing it."
        )
        yield Finding("launch-overhead", cost, evidence, job.where, FIXES)


def _captured(job: Job, measured: Measurement) -> Iterator[Finding]:
    cost, capture = captured_ms(measured, "launch"), measured.capture
    if capture is None or cost <= captured_ms(measured, "compute", "host-op"):
        return
    kernels = capture.kernels
    if capture.accelerated:
        evidence = (
            f"A step launches {kernels.launches:,.0f} kernels, which take "
            f"{kernels.mean_us:,.0f} µs on average; for {ms(cost)} of it the device "
            "waits for the next launch."
        )
    else:
        evidence = (
            f"TensorFlow calls and schedules operations for {ms(cost)} of a step while "
            "none of them runs."
        )
    yield Finding("launch-overhead", cost, evidence, job.where, FIXES)
