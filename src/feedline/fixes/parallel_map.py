"""The map runs on several cores

`num_parallel_calls=tf.data.AUTOTUNE`: the function runs on several elements at
once, and the elements still come out in their order. The same elements, so the
fix is exact.

A function that draws random numbers is a case of its own. Where no seed is set
nothing is fixed that could change. Under a seed the draws belong to the elements
in the order in which they come: then the function is taken apart, the draws are
made one after the other, and only the rest runs in parallel. Where that cannot
be done the map stays as it is. Functions that write to variables (a Keras random
layer advances its seed generator so) are never made parallel: two calls at once
could get the same draw.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from feedline.fixes.fix import CannotFix, Case, Edit, Kind, Proposal, find
from feedline.job.pipeline import Pipeline, Stage

KIND: Kind = "pipeline"
AUTOTUNE = -1
_WRITES = ("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp")


def propose(case: Case) -> Iterator[Proposal]:
    cores = case.measured.machine.cores
    for cost in case.costs:
        stages = [s for s in case.pipeline.find("map") if s.number == cost.index >= 0]
        if not stages or (cost.asynchronous and cost.parallelism > 1):
            continue
        stage = stages[0]
        if not _is_serial(stage) or stage.python or not case.movable(stage):
            continue
        split = _needs_split(stage)
        if split is None:
            continue
        wide = replace(cost, asynchronous=True, parallelism=cores)
        yield Proposal(
            Edit("parallel-map", stage.number, {"split": True} if split else {}),
            "exact",
            stage.where,
            tuple(wide if each is cost else each for each in case.costs),
        )


def apply(pipeline: Pipeline, edit: Edit) -> Pipeline:
    stage = find(pipeline, edit.stage)
    if stage.op != "map":
        raise CannotFix(f"stage {edit.stage} is {stage.label()}, not a map")
    if edit.args.get("split"):
        from feedline.job.rewrite.draws import draw_apart

        return draw_apart(pipeline, stage)
    args = {**stage.args, "num_parallel_calls": AUTOTUNE}
    return pipeline.swap(stage, replace(stage, args=args))


def _is_serial(stage: Stage) -> bool:
    return stage.args.get("num_parallel_calls") in (None, 0, 1) and not stage.args.get(
        "synchronous"
    )


def _needs_split(stage: Stage) -> bool | None:
    """False: may run in parallel as it is; True: the draws must be split off;
    None: neither."""
    written = any(op in f.ops for f in stage.functions for op in _WRITES)
    stateful = any(f.stateful and not f.random for f in stage.functions)
    if written or stateful:
        return None
    return stage.random and any(f.seeded for f in stage.functions)
