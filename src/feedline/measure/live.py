"""A short capture of the live job: a few steps under TensorFlow's own profiler.

Taken last, when everything else is known, and never at any price: whoever profiles
already goes on undisturbed, and whatever fails costs the capture alone.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from feedline.job.loop import Experiment, Run
from feedline.measure.trace import source
from feedline.measure.trace.capture import Capture
from feedline.measure.trace.examine import examine

_LEAST, _MOST = 3, 10


def steps_for(step_ms: float, seconds: float) -> int:
    """How many steps fit; 0 where not even a few do. The profiler itself needs
    about a second."""
    fit = int((seconds - 1.0) * 1e3 / max(step_ms, 1e-3))
    return 0 if fit < _LEAST else min(fit, _MOST)


def take_capture(steps: int, seconds: float) -> Experiment[Capture]:
    """What the profiler sees of some steps, one more than asked for: the last
    one has no end."""
    with tempfile.TemporaryDirectory(prefix="feedline-") as folder:
        with _profiling(folder):
            yield Run("live", steps + 1, seconds=seconds)
        (file,) = source.find(folder)[:1]
        return examine(source.load(file), "a capture of the job itself")


@contextmanager
def _profiling(folder: str) -> Iterator[None]:
    import tensorflow as tf

    profiler = tf.profiler.experimental
    # The Python tracer would slow the step down; what Python does shows as gaps.
    profiler.start(folder, profiler.ProfilerOptions(2, 0, 1))
    try:
        yield
    finally:
        profiler.stop()
