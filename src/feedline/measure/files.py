"""How the job's files are read: how many there are, how large, how long one
takes to open, how fast it streams. Reads a few of them, writes nothing."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from feedline.job.loops.loop import Clock
from feedline.job.tfdata import ops
from feedline.job.tfdata.ops import Fact
from feedline.job.tfdata.pipeline import Pipeline, Stage
from feedline.measure.measurement import FileCost, StageCost

_SAMPLE = 64
_COUNTED = 2_000
_STREAM_BYTES = 64 * 2**20


def measure_files(
    pipeline: Pipeline, stages: Sequence[StageCost], clock: Clock
) -> FileCost | None:
    """None where the pipeline does not name files that can be found."""
    reader = next((s for s in pipeline.stages() if s.has(Fact.SIMPLE_FILES)), None)
    names = reader.args.get("filenames") if reader is not None else None
    if names:
        named, total = [str(name) for name in names[:_SAMPLE]], len(names)
        counted = reader
    else:
        counted = _path_source(pipeline)
        if counted is None:
            return None
        named, total = _names(pipeline, counted)
    paths = [path for path in named if os.path.isfile(path)]
    if not paths or total < 1:
        return None
    order = list(pipeline.stages())
    per_step = sum(
        cost.elements_per_batch
        for cost in stages
        if cost.index >= 0 and order[cost.index] is counted
    )
    if counted is reader:
        per_step /= _records_in(reader, paths[:8])
    sizes = [os.path.getsize(path) for path in paths]
    mean = sum(sizes) / len(sizes)
    rate = _stream(max(paths, key=os.path.getsize), clock)
    each = _read_each(reader, paths, clock)
    return FileCost(
        files=total,
        mean_bytes=mean,
        open_ms=max(0.0, 1e3 * each - mean / rate / 1e3),
        mb_per_s=rate,
        files_per_step=per_step,
    )


def _path_source(pipeline: Pipeline) -> Stage | None:
    """The source whose elements are names of files that a later stage reads."""
    reads = any(
        stage.has(Fact.SIMPLE_FILES)
        or stage.op == ops.INTERLEAVE
        or any("ReadFile" in function.ops for function in stage.functions)
        for stage in pipeline.stages()
    )
    for stage in pipeline.stages():
        if stage.op == ops.LIST_FILES:
            return stage
        names = any(spec.dtype == "string" and spec.shape == () for spec in stage.spec)
        if reads and names and stage.op == ops.FROM_TENSOR_SLICES:
            return stage
    return None


def _names(pipeline: Pipeline, source: Stage) -> tuple[list[str], int]:
    import tensorflow as tf

    from feedline.job.tfdata.rebuild import rebuild

    dataset = rebuild(replace(pipeline, root=source), fresh=True)
    names = [
        os.fsdecode(value.numpy())
        for element in dataset.take(_SAMPLE)
        for value in tf.nest.flatten(element)
        if value.dtype == tf.string and value.shape.rank == 0
    ]
    return names, int(dataset.cardinality())


def _records(reader: Stage, paths: list[str]) -> Any:
    import tensorflow as tf

    kind = getattr(tf.data, ops.OPS[reader.op].public)
    compression = reader.args.get("compression_type") or ""
    return kind(paths, compression_type=compression)


def _records_in(reader: Stage | None, paths: list[str]) -> float:
    """How many records one of these files holds on average."""
    if reader is None:
        return 1.0
    counted = sum(1 for _ in _records(reader, paths).take(_COUNTED))
    return max(1, counted) / len(paths)


def _read_each(reader: Stage | None, paths: list[str], clock: Clock) -> float:
    """Seconds to read one of these files whole, in the way the job does."""
    import tensorflow as tf

    if reader is not None:
        contents = _records(reader, paths).take(_COUNTED)
    else:
        contents = tf.data.Dataset.from_tensor_slices(paths).map(
            lambda path: tf.strings.length(tf.io.read_file(path)), num_parallel_calls=1
        )
    best = float("inf")
    for _ in range(3):
        iterator = iter(contents.batch(_COUNTED))
        begin = clock.now()
        next(iterator)
        best = min(best, (clock.now() - begin) / len(paths))
        if best * len(paths) > 0.5:
            break
    return best


def _stream(path: str, clock: Clock) -> float:
    """Megabytes per second of one file read in large pieces; infinity where the
    files are too small for that to matter."""
    if os.path.getsize(path) < 2**18:
        return math.inf
    done = 0
    begin = clock.now()
    with open(path, "rb", buffering=0) as file:
        while done < _STREAM_BYTES:
            piece: Any = file.read(2**20)
            if not piece:
                break
            done += len(piece)
    return max(done, 1) / 1e6 / max(clock.now() - begin, 1e-6)
