"""Jobs written by hand: a pipeline part by part, and what was measured of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

from feedline.causes import Finding, diagnose
from feedline.job.job import Job
from feedline.job.tfdata.pipeline import Function, Pipeline, Stage, TensorSpec, Where
from feedline.measure.measurement import (
    Estimate,
    Machine,
    MatmulCost,
    Measurement,
    StageCost,
    StepTimes,
    WhatIf,
)

ACCELERATED = Machine(
    cores=2, memory_gb=24.0, free_memory_gb=20.0, devices=("CPU:0", "GPU:0")
)
HOST = replace(ACCELERATED, devices=("CPU:0",))


@dataclass(frozen=True)
class Part:
    """A stage before it has a place in a pipeline, and its cost."""

    stage: Stage
    cost: StageCost


def part(
    op: str,
    ms: float = 0.0,
    *,
    name: str | None = None,
    ops: tuple[str, ...] = (),
    python: bool = False,
    random: bool = False,
    threads: int = 1,
    ahead: bool | None = None,
    injected: bool = False,
    elements: float = 32.0,
    width: float = 1000.0,
    spec: tuple[TensorSpec, ...] = (),
    **args: Any,
) -> Part:
    function = Function(
        name or "",
        ops=dict.fromkeys(ops, 1),
        python=python,
        random=random,
        pure=not python,
    )
    return Part(
        Stage(
            op,
            args=args,
            functions=(function,) if name else (),
            spec=spec,
            random=random or op == "shuffle",
        ),
        StageCost(
            index=-1,
            name=op,
            ms_per_batch=ms,
            bytes_per_element=width,
            elements_per_batch=elements,
            parallelism=threads,
            asynchronous=threads > 1 if ahead is None else ahead,
            injected=injected,
        ),
    )


AHEAD = part("prefetch", ahead=True, injected=True)
SLICES = part("from_tensor_slices", 0.1)
BATCH = part("batch", 0.1, elements=1.0, width=32_000.0, batch_size=32)


@dataclass(frozen=True)
class Case:
    job: Job
    measured: Measurement

    def findings(self) -> tuple[Finding, ...]:
        return diagnose(self.job, self.measured)

    def names(self) -> list[str]:
        return [finding.cause for finding in self.findings()]

    def find(self, cause: str) -> Finding:
        return next(each for each in self.findings() if each.cause == cause)


def about(value: float, by: float = 0.01) -> Estimate:
    return Estimate(value, value * (1 - by), value * (1 + by), rounds=9)


def case(
    *parts: Part,
    observed: float = 60.0,
    host_fed: float | None = None,
    ceiling: float = 10.0,
    machine: Machine = HOST,
    cardinality: int = 100,
    epochs: int | None = 1,
    step: Mapping[str, Any] | None = None,
    job: Mapping[str, Any] | None = None,
    **measured: Any,
) -> Case:
    """A job whose parts stand in a row; line 1 of train.py makes the first. What
    was tried must be an experiment that `measure` makes."""
    assert set(measured.get("what_if", ())) <= set(get_args(WhatIf))
    root: Stage | None = None
    costs: list[StageCost] = []
    index = 0
    for each in parts:
        if each.cost.injected:
            costs.append(each.cost)
            continue
        where = Where("/home/me/train.py", index + 1)
        inputs = () if root is None else (root,)
        root = replace(each.stage, inputs=inputs, where=where)
        costs.append(replace(each.cost, index=index, where=where))
        index += 1
    return Case(
        Job(
            **{
                "kind": "fit",
                "where": Where("/home/me/train.py", 99),
                "pipeline": root and Pipeline(root, cardinality=cardinality),
                "batch_size": 32,
                "epochs": epochs,
                "steps_per_epoch": cardinality if cardinality > 0 else None,
                **(job or {}),
            }
        ),
        Measurement(
            machine=machine,
            step=StepTimes(
                **{
                    "observed": about(observed),
                    "host_fed": about(ceiling if host_fed is None else host_fed),
                    "ceiling": about(ceiling),
                    "batch_size": 32,
                    **(step or {}),
                }
            ),
            stages=tuple(costs),
            **measured,
        ),
    )


IMAGE32 = (TensorSpec("float32", (64, 64, 3)), TensorSpec("int64", ()))


def augment(**how):
    return part("map", 60.0, name="augment", random=True, **how)


def decode(**how):
    return part("map", 60.0, name="decode", threads=2, width=12_000.0, **how)


INPUT = (SLICES, BATCH, AHEAD)


TENSOR_CORES = replace(ACCELERATED, tensor_cores=True)


def step_bound(**how):
    return case(*INPUT, **{"observed": 10.1, "ceiling": 10.0, **how})


ODD = MatmulCost("dense", (128, 100, 50_257), 4.0, padded=2.5, half=4.0)
