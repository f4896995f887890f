"""An accelerator is in the machine and TensorFlow does not use it

## What it is

The machine has a GPU or another accelerator, but TensorFlow lists only the CPU: a build
without GPU support, a driver that is missing or too old, CUDA libraries that are not
found, or `CUDA_VISIBLE_DEVICES` set to nothing.

## Why it is slow

Everything is computed on the CPU's few cores. How much faster the device would be
cannot be measured before it works, so the cost is an upper bound: all of the computing.

## Example

```python
import tensorflow as tf

print(tf.config.list_physical_devices("GPU"))  # []
```

## Use instead

```python
import subprocess
import sys

subprocess.run([sys.executable, "-m", "pip", "install", "tensorflow[and-cuda]"])
```

## Fix

- `install-accelerator` (advice): install the build of TensorFlow and the driver that
  belong to the device, then measure again. A very small model may still be faster on
  the CPU.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes.asking import in_step, ms
from feedline.causes.finding import Finding
from feedline.job.job import Job
from feedline.measure.measurement import Measurement

CONCERNS = ("compute", "overhead")
FIXES: tuple[str, ...] = ("install-accelerator",)
FACT = True


def detect(job: Job, measured: Measurement) -> Iterator[Finding]:
    machine = measured.machine
    if machine.accelerated or not machine.accelerators_present:
        return
    share = measured.step.shares()["compute"]
    cost = in_step(measured, share * measured.step.observed.value)
    evidence = (
        f"The machine has {', '.join(machine.accelerators_present)}, but TensorFlow "
        f"trains on {', '.join(machine.devices)}; computing takes {ms(cost)} per step, "
        "and that is the most a device could save."
    )
    yield Finding("accelerator-unseen", cost, evidence, job.where, FIXES)
