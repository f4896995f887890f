"""Several machines that train together: who they are, and what they agree on.

The cluster is written as for TensorFlow itself, in a file or in TF_CONFIG:

    {"cluster": {"worker": ["a.example:2222", "b.example:2222"]},
     "task": {"type": "worker", "index": 0}}

Every worker reads the same text and holds all rows. Worker 0, the chief, also
writes: its checkpoint is where all go on from after one of them was lost.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from feedline.errors import TrainingError, WorkerLost

_HOST = re.compile(r"[A-Za-z0-9_.\-\[\]:]+:\d{1,5}")
_FORM = 'Write {"cluster": {"worker": ["host:port", "host:port"]}}.'


@dataclass(frozen=True)
class Cluster:
    """The workers, and which of them this is."""

    workers: tuple[str, ...]
    index: int

    @property
    def chief(self) -> bool:
        return self.index == 0

    def as_config(self) -> str:
        return json.dumps(
            {
                "cluster": {"worker": list(self.workers)},
                "task": {"type": "worker", "index": self.index},
            }
        )


def read(
    file: str | os.PathLike[str] | None, worker: int | None = None
) -> Cluster | None:
    """The cluster that a file describes; without a file, TF_CONFIG; or none."""
    if file is not None:
        try:
            text, source = Path(file).read_text("utf-8"), str(file)
        except (OSError, UnicodeDecodeError) as error:
            raise TrainingError(
                f"the cluster file {file} cannot be read: {error}. {_FORM}"
            ) from error
    else:
        text, source = os.environ.get("TF_CONFIG", ""), "TF_CONFIG"
        if not text.strip():
            if worker is not None:
                raise TrainingError(
                    f"worker is {worker}, and there is no cluster: give a cluster file."
                )
            return None
    return _parsed(text, source, worker)


def _parsed(text: str, source: str, worker: int | None) -> Cluster | None:
    try:
        body = json.loads(text)
        workers = body["cluster"]["worker"]
        others = set(body["cluster"]) - {"worker"}
        task = body.get("task", {})
        index = task.get("index") if worker is None else worker
        kind = task.get("type", "worker")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TrainingError(f"{source} is not a cluster. {_FORM}") from error
    if others or kind != "worker":
        raise TrainingError(
            f"{source} has the kind {(sorted(others) or [kind])[0]!r}: all machines "
            f"are workers here. {_FORM}"
        )
    if not isinstance(workers, list) or not workers:
        raise TrainingError(f"{source} names no workers. {_FORM}")
    for one in workers:
        if not isinstance(one, str) or _HOST.fullmatch(one) is None:
            raise TrainingError(f"{source} has the worker {one!r}. {_FORM}")
    if len(set(workers)) < len(workers):
        raise TrainingError(f"{source} names a worker twice: give each an address.")
    if isinstance(index, bool) or not isinstance(index, int):
        raise TrainingError(
            f"{source} does not say which worker this is: give --worker N, from 0."
        )
    if not 0 <= index < len(workers):
        raise TrainingError(
            f"this is worker {index}, and {source} has {len(workers)}: give 0 to "
            f"{len(workers) - 1}."
        )
    return Cluster(tuple(workers), index) if len(workers) > 1 else None


def join(cluster: Cluster) -> Any:
    """Meet the other workers; the strategy to train with."""
    import tensorflow as tf

    os.environ["TF_CONFIG"] = cluster.as_config()
    try:
        with lost(cluster):
            return tf.distribute.MultiWorkerMirroredStrategy()
    except RuntimeError as error:
        raise TrainingError(
            "a cluster is joined before TensorFlow does anything else in a process: "
            f"train in a separate process ({error})."
        ) from error


@dataclass(frozen=True, eq=False)
class Peers:
    """What the workers of a cluster tell each other beside rows."""

    cluster: Cluster
    strategy: Any

    @property
    def chief(self) -> bool:
        return self.cluster.chief

    def first(self, numbers: list[int]) -> list[int]:
        """The chief's numbers, on every worker."""
        halves = np.array([(n >> 24, n & 0xFFFFFF) for n in numbers], np.float32)
        halves = self._sum(halves if self.chief else np.zeros_like(halves))
        return [(int(high) << 24) + int(low) for high, low in halves]

    def any(self, flag: bool) -> bool:
        """Whether it is so on any worker."""
        return bool(self._sum(np.array([float(flag)], np.float32))[0] > 0)

    def _sum(self, values: Any) -> Any:
        with lost(self.cluster):
            return np.rint(self._summed(values).numpy())

    @cached_property
    def _summed(self) -> Any:
        import tensorflow as tf

        strategy = self.strategy

        def summed(mine: Any) -> Any:
            # Once on each machine, however many devices it has.
            here = len(strategy.extended.worker_devices)
            return strategy.reduce("SUM", strategy.run(lambda: mine / here), axis=None)

        return tf.function(summed, autograph=False, reduce_retracing=True)


@contextmanager
def lost(cluster: Cluster) -> Iterator[None]:
    """Says which cluster failed where TensorFlow says that a connection did."""
    import tensorflow as tf

    errors = tf.errors
    try:
        yield
    except (
        errors.UnavailableError,
        errors.AbortedError,
        errors.DeadlineExceededError,
        errors.CancelledError,
        errors.InternalError,
        errors.FailedPreconditionError,
    ) as error:
        raise WorkerLost(
            f"worker {cluster.index} of {len(cluster.workers)} lost another: "
            f"{str(error).splitlines()[0][:200]} Start the lost one again, and all go "
            "on from the chief's last checkpoint with resume."
        ) from error
