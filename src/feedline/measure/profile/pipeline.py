"""From the stages that a capture saw to a `Pipeline` and its costs per step.

No source line is known, nor an argument that the profiler does not record: what
the causes need to know of a stage is its kind, its cost and its threads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from feedline.job.tfdata import ops
from feedline.job.tfdata.pipeline import Function, Pipeline, Stage
from feedline.measure.measurement import StageCost
from feedline.measure.profile.spans import Spans, common, joined, total, within
from feedline.measure.profile.stages import AHEAD, Path, Seen, before

_PUBLIC = {
    **ops.CAPTURED,
    "Generator": "device_iterator",  # how a strategy hands out its batches
}
_SILENT = ("Root", "Model", "MaxIntraOpParallelism", "PrivateThreadPool", "Options")
_MOST = 300


@dataclass(frozen=True)
class Fed:
    """The input as the capture saw it. `waited` are stages and the ms of a step's
    wait for input during which each was at work, the longest first."""

    pipeline: Pipeline | None = None
    costs: tuple[StageCost, ...] = ()
    waited: tuple[tuple[str, float], ...] = ()


def make_pipeline(seen: dict[Path, Seen], steps: Spans, waits: Spans) -> Fed:
    """`steps` are the steps' spans, `waits` those in which a step waits."""
    seen = _rolled_up(seen)
    if not seen or len(seen) > _MOST:
        return Fed()
    count = max(1, len(steps))
    made: dict[Path, Stage] = {}
    costs: dict[int, StageCost] = {}
    waited: dict[str, float] = {}
    for path in sorted(seen, key=len, reverse=True):
        each, kind = seen[path], _kind(path)
        inputs = tuple(made[other] for other in sorted(made) if before(other) == path)
        if kind in _SILENT:
            if inputs:
                made[path] = inputs[0]
            continue
        ahead = path[-1].startswith(AHEAD)
        spans = each.busy(ahead)
        ns = sum(int(within(part, steps).sum()) for part in spans)
        elements = _elements(each, steps) / count
        cost = StageCost(
            index=-1,
            name=_public(kind),
            ms_per_element=ns / 1e6 / count / max(elements, 1e-9),
            ms_per_batch=ns / 1e6 / count,
            elements_per_batch=max(elements, 1e-9),
            parallelism=each.parallelism,
            asynchronous=ahead,
            injected=each.injected,
        )
        functions = (Function("…", python=True),) if each.python else ()
        stage = Stage(_public(kind), inputs, functions=functions)
        if kind == "MapAndBatch":
            stage, cost = _apart(stage, cost, costs)
        made[path], costs[id(stage)] = stage, cost
        during = total(common(joined(*spans), waits)) / 1e6 / count
        if during > 0:
            name = ops.MAP if kind == "MapAndBatch" else stage.op
            waited[name] = waited.get(name, 0.0) + during
    if not made:
        return Fed()
    root = made[min(made, key=len)]
    ranked = sorted(waited.items(), key=lambda pair: -pair[1])
    return Fed(Pipeline(root), _in_order(root, costs), tuple(ranked))


def _rolled_up(seen: dict[Path, Seen]) -> dict[Path, Seen]:
    """What runs inside an interleave or a flat_map is the work of that stage."""
    whole: dict[Path, Seen] = {}
    for path, each in seen.items():
        inner = [place for place, part in enumerate(path) if part.endswith("[]")]
        owner = path
        if inner:
            owner = (*path[: inner[0]], path[inner[0]].removesuffix("[]"))
            if path[-1] == "Generator":
                owner = (*owner[:-1], "FromGenerator")
        into = whole.setdefault(owner, Seen())
        into.python |= each.python
        if owner == path:
            into.own += each.own
            into.starts += each.starts
            into.parallelism, into.injected = each.parallelism, each.injected
            into.work += each.work
        else:
            into.own += each.own
            into.work += [*each.own, *each.work]
    return _generators(whole)


def _generators(whole: dict[Path, Seen]) -> dict[Path, Seen]:
    """`from_generator` is a flat_map over one Generator: one stage, not two."""
    for path in [path for path in whole if path[-1] == "FromGenerator"]:
        around = (*path[:-1], "FlatMap")
        if around in whole:
            inner, outer = whole[path], whole.pop(around)
            inner.own += outer.own
            inner.starts = outer.starts
        for other in [other for other in whole if other[: len(around)] == around]:
            whole.pop(other)
    return whole


def _apart(
    stage: Stage, cost: StageCost, costs: dict[int, StageCost]
) -> tuple[Stage, StageCost]:
    """TensorFlow fuses a map and the batch after it; the user wrote two stages."""
    fed = [costs[id(each)].elements_per_batch for each in stage.inputs]
    many = max([cost.elements_per_batch, *fed])
    mapped = replace(stage, op=ops.MAP)
    costs[id(mapped)] = replace(
        cost,
        name=ops.MAP,
        elements_per_batch=many,
        ms_per_element=cost.ms_per_batch / many,
    )
    batch = replace(
        cost, name=ops.BATCH, ms_per_batch=0.0, ms_per_element=0.0, parallelism=1
    )
    return Stage(ops.BATCH, (mapped,)), batch


def _in_order(root: Stage, costs: dict[int, StageCost]) -> tuple[StageCost, ...]:
    stages = list(Pipeline(root).stages())
    every = sum(costs[id(stage)].ms_per_batch for stage in stages) or 1.0
    return tuple(
        replace(cost, index=place, share=cost.ms_per_batch / every)
        for place, cost in enumerate(costs[id(stage)] for stage in stages)
    )


def _elements(each: Seen, steps: Spans) -> int:
    if not each.starts:
        return 0
    starts = np.sort(np.concatenate(each.starts))
    inside = np.searchsorted(starts, steps)
    return int((inside[:, 1] - inside[:, 0]).sum())


def _kind(path: Path) -> str:
    return re.sub(r"(V\d+)?(\[\d*\])?$", "", path[-1])


def _public(kind: str) -> str:
    if kind in _PUBLIC:
        return _PUBLIC[kind]
    plain = kind.removeprefix("Parallel")
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", plain).lower()
