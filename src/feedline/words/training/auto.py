"""`--engine auto`: both engines train on the first seconds of the text, and the
faster one is taken. A GPU is not faster by decree.

What they learn in that time is thrown away.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import time
from collections.abc import Callable

from feedline.errors import TrainingError
from feedline.words.engine import Setup, engine
from feedline.words.training.driver import Progress
from feedline.words.training.loop import Leg
from feedline.words.training.material import Material, task_of

SECONDS = 3.0
"""For each engine, after it has compiled."""
_log = logging.getLogger(__name__)


def check(setup: Setup) -> None:
    """An error where machines would have to measure together."""
    given = setup.cluster is not None or setup.worker is not None
    if given or os.environ.get("TF_CONFIG", "").strip():
        raise TrainingError(
            "engine auto measures on one machine, and a cluster is given (cluster, "
            "worker or TF_CONFIG): give engine tensorflow, or no cluster."
        )


def faster(
    material: Material,
    setup: Setup,
    progress: Callable[[Progress], None] | None = None,
) -> tuple[str, dict[str, float]]:
    """The faster engine for this training, and how many tokens a second each did."""
    if importlib.util.find_spec("tensorflow") is None:
        _log.info("engine cpu: TensorFlow is not installed")
        return "cpu", {}
    speeds = {}
    for name in ("cpu", "tensorflow"):
        if progress is not None:
            progress(Progress(f"measure {name}", 0, None))
        speeds[name] = round(speed(name, material, setup), 1)
    best, other = sorted(speeds, key=lambda name: -speeds[name])
    _log.info(
        "engine %s: %s tokens/s, %.1f x the %s of %s",
        best,
        f"{speeds[best]:,.0f}",
        speeds[best] / speeds[other],
        f"{speeds[other]:,.0f}",
        other,
    )
    return best, speeds


def speed(name: str, material: Material, setup: Setup) -> float:
    """Tokens, or co-occurrences, that an engine gets through in a second."""
    engine(name).warm_up(material.config)
    task = task_of(name, material, setup if name == "tensorflow" else Setup())
    task.run(0, 0)
    task.runner.flush()
    leg = Leg(task, 0, 0, runner=task.runner)
    started = time.perf_counter()
    threads = min(material.config.threads, task.runner.threads)

    def enough(leg: Leg) -> bool:
        # On a busy machine no thread may have got so far yet.
        return leg.finished > 0 and time.perf_counter() - started > SECONDS

    leg.run(threads, enough)
    return leg.finished / (time.perf_counter() - started)
