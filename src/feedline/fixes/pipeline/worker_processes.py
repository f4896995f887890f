"""The user's Python runs in processes of its own

`py_function`, `numpy_function`, `from_generator` and `PyDataset` run Python, and one
interpreter runs one thread at a time. Worker processes have an interpreter each. The
elements keep their order: exact. Whether the function gives the same result for the
same element cannot be seen from outside; if its code shows that it keeps state, the fix
is refused.

A worker process multiplies matrices with one thread. Systems that cannot fork while
threads run (before glibc 2.34 or musl 1.2.2) get no workers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from feedline.fixes import conditions
from feedline.fixes.args import Takes, number
from feedline.fixes.fix import CannotFix, Case, Edit, Proposal
from feedline.fixes.patching import Patch, label
from feedline.fixes.place import Place
from feedline.job.tfdata import ops
from feedline.job.tfdata.ops import Fact
from feedline.job.tfdata.pipeline import Pipeline, Stage

TAKES = Takes(stage=True, args={"workers": number(1, 1024)})


def propose(case: Case) -> Iterator[Proposal]:
    cores = case.measured.machine.cores
    for stage in case.pipeline.stages():
        cost = case.cost(stage)
        if cost is None or not stage.has(Fact.WORKERS):
            continue
        workers = cores if stage.op == ops.MAP or _of_pydataset(stage) else 1
        edit = Edit("worker-processes", stage.number, {"workers": workers})
        fits = conditions.holds(check, case.pipeline, edit)
        if not fits or not case.movable(stage):
            continue
        costs = case.with_cost(cost, asynchronous=True, parallelism=workers)
        yield Proposal(edit, "exact", stage.where, costs)


def check(pipeline: Pipeline, edit: Edit) -> Stage:
    """A stage of Python that draws nothing, fed by what may be read ahead. That the
    Python keeps no state is seen when it is moved."""
    stage = conditions.stage_of(pipeline, edit, ops.MAP, ops.FROM_GENERATOR)
    if not stage.python:
        raise CannotFix(f"{stage.label()} runs no Python of the user's")
    if stage.random and not _of_pydataset(stage):  # Keras draws the order of batches
        raise CannotFix(f"{stage.label()} draws random numbers")
    for function in stage.functions:
        if function.outside or function.reads:
            raise CannotFix(f"{stage.label()} does more than compute")
    for upstream in stage.inputs:
        conditions.ahead(pipeline, upstream)
    return stage


def apply(pipeline: Pipeline, edit: Edit) -> Pipeline:
    stage = check(pipeline, edit)
    if stage.handle is None:
        raise CannotFix(f"{stage.label()} was not read from a dataset")
    moved = _moved(stage, int(edit.args["workers"]))
    if moved.purity.pure is not True:
        why = "; ".join(moved.purity.reasons)
        raise CannotFix(f"{stage.label()} may keep a state: {why}")
    if stage.op == ops.FROM_GENERATOR:
        return pipeline.swap(stage, replace(moved.stage(), number=stage.number))
    new = stage.given(
        func=moved.func, num_parallel_calls=moved.calls, deterministic=True
    )
    return pipeline.swap(stage, new)


def _of_pydataset(stage: Stage) -> bool:
    """A generator cannot be divided; Keras' over a `PyDataset` can."""
    if stage.op != ops.FROM_GENERATOR or stage.handle is None:
        return False
    from feedline.job.tfdata.generators import adapter_of

    return adapter_of(stage.handle) is not None


def _moved(stage: Stage, workers: int) -> Any:
    """The processes of one stage are started once, however often the edit is
    applied; they end with this one."""
    from feedline.fixes.means.workers.function import parallel_python_map
    from feedline.fixes.means.workers.generator import generator_ahead
    from feedline.fixes.means.workers.pydataset import batches_ahead

    key = id(stage.handle.dataset)
    if key not in _MOVED:
        if stage.op == ops.MAP:
            made: Any = parallel_python_map(stage, workers)
        elif _of_pydataset(stage):
            made = batches_ahead(stage, workers)
        else:
            made = generator_ahead(stage)
        _MOVED[key] = (stage.handle, made)
    return _MOVED[key][1]


_MOVED: dict[int, tuple[Any, Any]] = {}


def _comment(place: Place, _: str) -> str:
    number = place.edit.args.get("workers", "several")
    return (
        f"{label(place)} runs Python, one thread at a time; `feedline run` gives it "
        f"{number} worker processes. Or write the same with TensorFlow operations"
    )


PATCH = Patch(_comment)
