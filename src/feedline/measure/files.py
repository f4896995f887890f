"""How the job's files are read: how many there are, how large, how long one
takes to open, how fast it streams. Reads a few of them, writes nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from feedline.job.loop import Clock
from feedline.job.pipeline import Pipeline, Stage
from feedline.measure.measurement import FileCost, StageCost

_SAMPLE = 64
_STREAM_BYTES = 64 * 2**20


def measure_files(
    pipeline: Pipeline, stages: Sequence[StageCost], clock: Clock
) -> FileCost | None:
    """None where the pipeline does not name files that can be found."""
    source = _path_stage(pipeline)
    if source is None:
        return None
    paths, total = _paths(pipeline, source)
    sizes = [os.path.getsize(path) for path in paths]
    if not sizes or total < 1:
        return None
    order = list(pipeline.stages())
    per_step = next(
        (
            c.elements_per_batch
            for c in stages
            if c.index >= 0 and order[c.index] is source
        ),
        0.0,
    )
    each = _read_each(paths, clock)
    rate = _stream(max(paths, key=os.path.getsize), clock)
    mean = sum(sizes) / len(sizes)
    open_ms = max(0.0, 1e3 * each - mean / (rate * 1e6) * 1e3)
    return FileCost(
        files=total,
        mean_bytes=mean,
        open_ms=open_ms,
        mb_per_s=rate,
        files_per_step=per_step,
    )


def _path_stage(pipeline: Pipeline) -> Stage | None:
    """The source whose elements are file names."""
    for stage in pipeline.stages():
        if stage.op == "list_files":
            return stage
        names_files = (
            stage.is_source
            and len(stage.spec) >= 1
            and any(spec.dtype == "string" and spec.shape == () for spec in stage.spec)
            and stage.op in ("from_tensor_slices", "from_tensors")
        )
        if names_files and _reads_files(pipeline):
            return stage
    return None


def _reads_files(pipeline: Pipeline) -> bool:
    return any(
        "ReadFile" in function.ops or stage.op == "interleave"
        for stage in pipeline.stages()
        for function in stage.functions
    )


def _paths(pipeline: Pipeline, source: Stage) -> tuple[list[str], int]:
    import tensorflow as tf

    from feedline.job.rebuild import rebuild

    dataset = rebuild(replace(pipeline, root=source))
    paths: list[str] = []
    for element in dataset.take(_SAMPLE):
        for value in tf.nest.flatten(element):
            if value.dtype == tf.string and value.shape.rank == 0:
                path = os.fsdecode(value.numpy())
                if os.path.isfile(path):
                    paths.append(path)
                    break
    return paths, int(dataset.cardinality())


def _read_each(paths: list[str], clock: Clock) -> float:
    """Seconds to read one of these files whole, by TensorFlow's own reader."""
    import tensorflow as tf

    best = float("inf")
    for _ in range(3):
        begin = clock.now()
        for path in paths:
            tf.io.read_file(path)
        best = min(best, (clock.now() - begin) / len(paths))
    return best


def _stream(path: str, clock: Clock) -> float:
    """Megabytes per second of one file read in large pieces."""
    done = 0
    begin = clock.now()
    with open(path, "rb", buffering=0) as file:
        while done < _STREAM_BYTES:
            piece: Any = file.read(2**20)
            if not piece:
                break
            done += len(piece)
    return max(done, 1) / 1e6 / max(clock.now() - begin, 1e-6)
