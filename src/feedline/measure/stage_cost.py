"""`StageCost`: what one stage of a pipeline costs. Stage by stage it is part of a
`Measurement` and of a profiler `Capture`, so it stands beside both."""

from __future__ import annotations

from dataclasses import dataclass

from feedline.job.tfdata.pipeline import Where


@dataclass(frozen=True)
class StageCost:
    """What one stage of the pipeline costs, as it really runs.

    index        its place in `Pipeline.stages()`
    ms_per_element  of its own elements; ms_per_batch: per training step
    busy         the part of that time in which it keeps a core busy; the rest waits.
                 More than 1 where its kernels run on several cores at once
    parallelism  threads it really runs on (TensorFlow may have changed it)
    asynchronous it works ahead, in threads of its own (prefetch, parallel map)
    """

    index: int
    name: str
    where: Where | None = None
    ms_per_element: float = 0.0
    ms_per_batch: float = 0.0
    busy: float = 1.0
    share: float = 0.0
    bytes_per_element: float = 0.0
    elements_per_batch: float = 1.0
    parallelism: int = 1
    asynchronous: bool = False
    injected: bool = False
