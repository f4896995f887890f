"""Every fact about every Dataset op, in one table. Needs no TensorFlow.

    from feedline.job.tfdata import ops
    from feedline.job.tfdata.ops import Fact

    stage.op == ops.MAP
    stage.has(Fact.FILES)

names.py   the names: `ops.MAP`, `ops.BATCH`, …
op.py      what an entry says
sources.py, transformations.py   the entries
table.py   all of them by name, by class, by kernel
"""

from feedline.job.tfdata.ops.names import *  # noqa: F403
from feedline.job.tfdata.ops.op import By, Fact, Op
from feedline.job.tfdata.ops.table import CAPTURED, CLASSES, INNER_KERNELS, OPS

__all__ = [
    "CAPTURED",
    "CLASSES",
    "INNER_KERNELS",
    "OPS",
    "By",
    "Fact",
    "Op",
    "facts",
    "has",
]


def facts(op: str) -> Fact:
    """All that holds for the op of that name; nothing where it is not known."""
    return OPS[op].facts if op in OPS else Fact.NONE


def has(op: str, fact: Fact) -> bool:
    """Does this hold for the op of that name? Of an unknown op nothing does."""
    return fact in facts(op)
