"""What stages may cost at most, by what was observed of the input as a whole.

In the time in which the input alone gives one batch, every thread of it works no
longer than that time, and all of them together no longer than that time on every
core. Costs of single stages come from finer and shakier measurements; where they
say more than the whole allows, they are wrong. `excesses` says which. `lawful` makes
of any costs such that keep the law: what is beyond it by no more than noise is
brought within it, what is beyond by more is left out, with the reason. What a cache
saves in all epochs but the first is no part of the input that was observed, and free of
the law.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from feedline.job.tfdata.ops import Fact
from feedline.job.tfdata.pipeline import Pipeline
from feedline.measure.measurement import StageCost
from feedline.measure.nodes import in_shares

NOISE = 1.25
"""Two measurements of one thing may differ by this factor on a busy machine."""
_ROUNDING = 1 + 1e-9


@dataclass(frozen=True)
class Excess:
    """Stages, by their places, that cost more together than they can."""

    stages: tuple[int, ...]
    said: float
    allowed: float
    of_cpu: bool = False

    @property
    def beyond_noise(self) -> bool:
        return self.said > self.allowed * NOISE


def excesses(
    pipeline: Pipeline, stages: Sequence[StageCost], alone: float, cores: int
) -> list[Excess]:
    """Every way in which these costs contradict an input that gives a batch in
    `alone` milliseconds."""
    spared = _before_caches(pipeline)
    everything = tuple(p for p, c in enumerate(stages) if c.index not in spared)
    found = [
        Excess(
            everything,
            sum(_cpu(stages[place]) for place in everything),
            alone * max(1, cores),
            of_cpu=True,
        )
    ]
    for thread in _threads(pipeline, stages):
        members = [p for p in thread if stages[p].index not in spared]
        said = sum(stages[place].ms_per_batch for place in members)
        found.append(Excess(tuple(members), said, alone))
    for place, cost in enumerate(stages):
        if cost.asynchronous and cost.index not in spared:
            allowed = alone * max(1, cost.parallelism)
            found.append(Excess((place,), cost.ms_per_batch, allowed))
    return [each for each in found if each.said > each.allowed * _ROUNDING]


def lawful(
    pipeline: Pipeline, stages: Sequence[StageCost], alone: float, cores: int
) -> tuple[tuple[StageCost, ...], tuple[str, ...]]:
    """The costs within the law, and why some stages are left out."""
    reasons: list[str] = []
    while True:
        stages = _several_threads(pipeline, stages, alone, cores)
        beyond = [e for e in excesses(pipeline, stages, alone, cores) if e.beyond_noise]
        if not beyond:
            break
        worst = max(beyond, key=lambda each: each.said / each.allowed)
        out = max(worst.stages, key=lambda place: _part(stages[place], worst))
        reasons.append(_reason(stages[out], worst, alone, cores))
        stages = [cost for place, cost in enumerate(stages) if place != out]
    # What is left is over by noise at most.
    return in_shares(within(pipeline, stages, alone, cores)), tuple(reasons)


def within(
    pipeline: Pipeline, stages: Sequence[StageCost], alone: float, cores: int
) -> Sequence[StageCost]:
    """Every cost made smaller until all keep the law: no measurement where they were
    beyond noise, but enough to choose what to try. Less of one sum is not more of
    another."""
    for excess in excesses(pipeline, stages, alone, cores):
        stages = _scaled(stages, excess.stages, excess.allowed / excess.said)
    return stages


def _several_threads(
    pipeline: Pipeline, stages: Sequence[StageCost], alone: float, cores: int
) -> Sequence[StageCost]:
    """A stage in one thread may use more CPU than that thread has time: TensorFlow
    runs large kernels on several. Its time is then the thread's, and it keeps more
    than one core busy."""
    for excess in excesses(pipeline, stages, alone, cores):
        if excess.of_cpu or not excess.beyond_noise:
            continue
        cpu = sum(_cpu(stages[place]) for place in excess.stages)
        if not excess.allowed * NOISE < cpu <= excess.allowed * cores:
            continue
        by = excess.allowed / excess.said
        stages = [
            replace(_times(cost, by), busy=cost.busy / by)
            if place in excess.stages
            else cost
            for place, cost in enumerate(stages)
        ]
    return stages


def _threads(pipeline: Pipeline, stages: Sequence[StageCost]) -> Iterable[list[int]]:
    """The places of the stages that take turns in one thread, thread by thread. A
    stage that works ahead reads all its inputs in threads of its own; what
    TensorFlow put in stands behind the stage that it follows."""
    order = list(pipeline.stages())
    place_of = {id(order[c.index]): p for p, c in enumerate(stages) if c.index >= 0}
    threads: list[list[int]] = [[]]
    waiting = [(pipeline.root, threads[0])]
    while waiting:
        stage, thread = waiting.pop()
        place = place_of.get(id(stage))
        if place is not None:
            after = place + 1
            while after < len(stages) and stages[after].index < 0:
                after += 1
            for added in range(after - 1, place - 1, -1):
                if stages[added].asynchronous:
                    thread = []
                    threads.append(thread)
                else:
                    thread.append(added)
        waiting += [(upstream, thread) for upstream in stage.inputs]
    return [sorted(set(thread)) for thread in threads if thread]


def _before_caches(pipeline: Pipeline) -> set[int]:
    kept: set[int] = set()
    for stage in pipeline.stages():
        if stage.has(Fact.KEEPS_ELEMENTS):
            kept |= {id(each) for each in Pipeline(stage).stages()} - {id(stage)}
    return {i for i, stage in enumerate(pipeline.stages()) if id(stage) in kept}


def _cpu(cost: StageCost) -> float:
    return cost.ms_per_batch * cost.busy


def _part(cost: StageCost, excess: Excess) -> float:
    return _cpu(cost) if excess.of_cpu else cost.ms_per_batch


def _scaled(
    stages: Sequence[StageCost], members: Iterable[int], by: float
) -> list[StageCost]:
    inside = set(members)
    return [_times(c, by) if place in inside else c for place, c in enumerate(stages)]


def _times(cost: StageCost, by: float) -> StageCost:
    return replace(
        cost,
        ms_per_element=cost.ms_per_element * by,
        ms_per_batch=cost.ms_per_batch * by,
    )


def _reason(cost: StageCost, excess: Excess, alone: float, cores: int) -> str:
    limit = f"{excess.allowed:.3g} ms"
    if excess.of_cpu:
        limit += f" of CPU on {cores} cores"
    return (
        f"what {cost.name} costs: it was timed at {_part(cost, excess):.3g} ms a step, "
        f"and the whole input, which gives a batch in {alone:.3g} ms, leaves no more "
        f"than {limit}"
    )
