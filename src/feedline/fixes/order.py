"""Where another order of elements is only that: the stages behind it make the same
elements of them, one by one.

A seeded draw, a `take`, a number from `enumerate` belong to a place in the order:
behind them an epoch in another order is an epoch of other elements.
"""

from __future__ import annotations

from feedline.fixes.fix import CannotFix
from feedline.job.tfdata.ops import Fact
from feedline.job.tfdata.pipeline import Pipeline, Stage


def order_decides(pipeline: Pipeline, stage: Stage) -> Stage | None:
    """The first stage, from this one on, whose elements depend on the order in which
    it is fed; None where another order changes nothing else."""
    for each in (stage, *pipeline.after(stage)):
        if _by_place(each) or (each is not stage and not each.has(Fact.ONE_BY_ONE)):
            return each
    return None


def let_go(pipeline: Pipeline, stage: Stage) -> None:
    """Refuse another order where it decides which elements there are."""
    found = order_decides(pipeline, stage)
    if found is not None:
        raise CannotFix(
            f"in another order {found.label()} would make other elements, not the "
            "same ones"
        )


def _by_place(stage: Stage) -> bool:
    if stage.args.get("drop_remainder") or stage.args.get("stop_on_empty_dataset"):
        return True
    return any(
        not f.pure or f.outside or f.reads or (f.seeded if f.random else f.stateful)
        for f in stage.functions
    )
