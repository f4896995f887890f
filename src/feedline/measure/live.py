"""A short capture of the live job: a few steps under TensorFlow's own profiler.

Taken last, when everything else is known, and never at any price: whoever profiles
already goes on undisturbed, and whatever fails costs the capture alone.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from feedline.job.loops.loop import Experiment, Run

if TYPE_CHECKING:
    from feedline.measure.profile.capture import Capture

_LEAST, _MOST = 3, 10
_CHATTER = re.compile(rb"\b(profiler_session|session_manager|save_profile)\.cc:\d+\]")


def steps_for(step_ms: float, seconds: float) -> int:
    """How many steps fit; 0 where not even a few do. The profiler itself needs
    about a second."""
    fit = int((seconds - 1.0) * 1e3 / max(step_ms, 1e-3))
    return 0 if fit < _LEAST else min(fit, _MOST)


def take_capture(steps: int, seconds: float) -> Experiment[Capture]:
    """What the profiler sees of some steps, one more than asked for: the last
    one has no end."""
    # Not before: a training under `run` need not wait for what reads captures.
    from feedline.measure.profile import source
    from feedline.measure.profile.examine import examine

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
    with without_chatter():
        profiler.start(folder, profiler.ProfilerOptions(2, 0, 1))
    try:
        yield
    finally:
        with without_chatter():
            profiler.stop()


@contextmanager
def without_chatter() -> Iterator[None]:
    """The profiler logs what it does, and its level cannot be set once TensorFlow
    runs. Inside, standard error is kept aside; what others wrote comes after it."""
    try:
        own = os.dup(2)
    except OSError:  # there is none
        yield
        return
    with tempfile.TemporaryFile() as aside:
        os.dup2(aside.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(own, 2)
            os.close(own)
            aside.seek(0)
            for line in aside:
                if not _CHATTER.search(line):
                    os.write(2, line)
