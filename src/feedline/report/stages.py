"""The stages' costs as rows of a report: each with its label, its line, how it runs
and which rows feed it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from feedline.job.tfdata import ops
from feedline.job.tfdata.pipeline import Pipeline, Stage, Where
from feedline.measure.measurement import StageCost
from feedline.report.report import StageRow
from feedline.report.rounding import tidy


class Stages:
    """The stages of one pipeline as the user wrote it; None: it is not known. Those at
    the places `spared` run in the first epoch alone: a cache keeps what they give."""

    def __init__(self, pipeline: Pipeline | None, spared: Collection[int] = ()) -> None:
        self._spared = frozenset(spared)
        self._stages = list(pipeline.stages()) if pipeline is not None else []
        self._index = {id(stage): index for index, stage in enumerate(self._stages)}

    def rows(
        self, costs: Sequence[StageCost], first: Sequence[StageCost] = ()
    ) -> tuple[StageRow, ...]:
        """One row for each cost, in order. `first` are the costs in the first epoch,
        where a cache spares some of them later."""
        before = {(c.index, c.name): c.ms_per_batch for c in first}
        rows = []
        for place, lasting in enumerate(self._lasting(costs)):
            cost = costs[place]
            at_first = before.get((cost.index, cost.name), cost.ms_per_batch)
            row = self._row(lasting, self._inputs(place, costs))
            if at_first != lasting.ms_per_batch:
                row = replace(row, first_ms_per_step=tidy(at_first))
            rows.append(row)
        return tuple(rows)

    def _lasting(self, costs: Sequence[StageCost]) -> Sequence[StageCost]:
        """From the second epoch on, with shares that add up."""
        if not any(cost.index in self._spared for cost in costs):
            return costs
        later = [
            replace(cost, ms_per_batch=0.0) if cost.index in self._spared else cost
            for cost in costs
        ]
        total = sum(cost.ms_per_batch for cost in later) or 1.0
        return [replace(cost, share=cost.ms_per_batch / total) for cost in later]

    def label_of(self, where: Where | None, costs: Sequence[StageCost]) -> str:
        """The dearest stage made on that line: several may stand on one."""
        there = [cost for cost in costs if where is not None and cost.where == where]
        if not there:
            return ""
        return self._label(max(there, key=lambda cost: cost.ms_per_batch))

    def _row(self, cost: StageCost, inputs: tuple[int, ...] | None) -> StageRow:
        stage = self._of(cost)
        calls = stage.args.get("num_parallel_calls") if stage else None
        chosen = isinstance(calls, int) and calls > 0
        prefetch = cost.injected or (stage is not None and stage.op == ops.PREFETCH)
        return StageRow(
            name=cost.name,
            where=None if cost.where is None else str(cost.where),
            ms_per_element=tidy(cost.ms_per_element),
            share=round(cost.share, 4),
            bytes_per_element=tidy(cost.bytes_per_element),
            ms_per_step=tidy(cost.ms_per_batch),
            parallelism=cost.parallelism,
            code="" if cost.where is None else cost.where.code.strip(),
            label=self._label(cost),
            busy=tidy(cost.busy),
            ahead=cost.asynchronous,
            tuned=cost.asynchronous and not prefetch and not chosen,
            python=stage is not None and stage.python,
            added=cost.injected,
            inputs=inputs,
        )

    def _label(self, cost: StageCost) -> str:
        stage = self._of(cost)
        return cost.name if stage is None else stage.label()

    def _of(self, cost: StageCost) -> Stage | None:
        if cost.injected or not 0 <= cost.index < len(self._stages):
            return None
        return self._stages[cost.index]

    def _inputs(self, place: int, costs: Sequence[StageCost]) -> tuple[int, ...] | None:
        stage = self._of(costs[place])
        if stage is None:
            return (place - 1,) if place else None
        places = {cost.index: at for at, cost in enumerate(costs) if self._of(cost)}
        found = []
        for upstream in stage.inputs:
            at = self._nearest(upstream, places)
            if at is None:
                return None
            # What TensorFlow put in stands behind the stage that it follows.
            while at + 1 < place and costs[at + 1].injected:
                at += 1
            found.append(at)
        return tuple(found)

    def _nearest(self, stage: Stage, places: dict[int, int]) -> int | None:
        """The row of this stage, or of the one before it that has one."""
        while self._index.get(id(stage)) not in places:
            if len(stage.inputs) != 1:
                return None
            stage = stage.inputs[0]
        return places[self._index[id(stage)]]
