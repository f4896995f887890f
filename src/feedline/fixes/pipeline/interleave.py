"""Several files are read at once

There are three ways.

- An `interleave` that reads its files by turns on one thread: the same turns on several
  (`num_parallel_calls`), order kept. Exact.
- Files read one after the other (`TFRecordDataset(files)`, `flat_map`): the next files
  are opened and read ahead while the first is being used, and passed on in the same
  order. Exact.
- The same, mixing the records of several files (`num_parallel_reads`): faster where one
  file alone is slow to read. The order changes: reordered. Not used where a later stage
  would turn another order into other elements (`unordered` says which).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from feedline.causes.asking import reads_records
from feedline.fixes import conditions
from feedline.fixes.args import Takes, word
from feedline.fixes.fix import CannotFix, Case, Edit, Grade, Order, Proposal, find
from feedline.fixes.order import let_go
from feedline.fixes.patching import (
    BY_HAND,
    CannotEdit,
    Patch,
    Source,
    give_threads,
    label,
)
from feedline.fixes.place import Place
from feedline.job.tfdata import ops
from feedline.job.tfdata.ops import Fact
from feedline.job.tfdata.pipeline import Pipeline, Stage
from feedline.measure.measurement import StageCost

TAKES = Takes(stage=True, args={"way": word("turns", "ahead", "mixed")})
AUTOTUNE = -1
_AHEAD = 2
_BUFFER = 64
_WAYS: dict[str, Grade] = {"turns": "exact", "ahead": "exact", "mixed": "reordered"}


def propose(case: Case) -> Iterator[Proposal]:
    for stage in case.pipeline.stages():
        cost = case.cost(stage)
        if cost is None or not case.movable(stage):
            continue
        for way, grade in _WAYS.items():
            edit = Edit("interleave", stage.number, {"way": way})
            if conditions.holds(check, case.pipeline, edit):
                yield _proposal(case, stage, cost, edit, grade)


def least(edit: Edit) -> Grade:
    return "reordered" if edit.args.get("way") == "mixed" else "exact"


def check(pipeline: Pipeline, edit: Edit) -> Stage:
    """A stage that reads records from files, in an order that this way keeps."""
    stage, way = find(pipeline, edit.stage), edit.args["way"]
    if not reads_records(stage) or stage.random or stage.python:
        raise CannotFix(f"{stage.label()} does more than read records from files")
    conditions.ahead(pipeline, stage)
    if way == "turns":
        conditions.stage_of(pipeline, edit, ops.INTERLEAVE)
        conditions.serial(stage)
        conditions.keeps_order(pipeline)
        if stage.args.get("cycle_length", 1) == 1:
            raise CannotFix(f"{stage.label()} reads one file at a time")
    elif way == "mixed":
        _one_after_the_other(stage)
        let_go(pipeline, stage)
    elif way == "ahead":
        if stage.op != ops.FLAT_MAP:
            _one_after_the_other(stage)
    else:
        raise CannotFix(f"{way!r:.60} is no way to read files")
    return stage


def apply(pipeline: Pipeline, edit: Edit) -> Pipeline:
    stage, way = check(pipeline, edit), edit.args["way"]
    if way == "turns":
        new = stage.given(num_parallel_calls=AUTOTUNE)
    elif way == "mixed":
        new = stage.given(num_parallel_reads=AUTOTUNE)
    elif stage.op == ops.FLAT_MAP:
        new = replace(stage, op=ops.PARALLEL_INTERLEAVE, args=_ahead())
    else:
        new = _reader_ahead(stage)
    return pipeline.swap(stage, new)


def _proposal(
    case: Case, stage: Stage, cost: StageCost, edit: Edit, grade: Grade
) -> Proposal:
    threads = min(case.measured.machine.cores, _AHEAD)
    costs = case.with_cost(cost, asynchronous=True, parallelism=threads)
    return Proposal(edit, grade, stage.where, costs)


def _one_after_the_other(stage: Stage) -> None:
    names = stage.args.get("filenames")
    several = isinstance(names, list | tuple) and len(names) > 1
    serial = stage.args.get("num_parallel_reads") in conditions.SERIAL
    if not stage.has(Fact.PARALLEL_FILES) or not several or not serial:
        raise CannotFix(f"{stage.label()} does not read files one after the other")


def _ahead() -> dict[str, object]:
    """One file at a time is handed on, the next ones are read meanwhile."""
    return {
        "cycle_length": 1,
        "block_length": 1,
        "sloppy": False,
        "buffer_output_elements": _BUFFER,
        "prefetch_input_elements": _AHEAD,
    }


def _reader_ahead(stage: Stage) -> Stage:
    args = dict(stage.args)
    names = args.pop("filenames")
    args.pop("num_parallel_reads", None)

    def read(name: object) -> object:
        import tensorflow as tf

        made: object = getattr(tf.data, ops.OPS[stage.op].public)(name, **args)
        return made

    source = Stage(
        ops.FROM_TENSOR_SLICES, args={"tensors": list(names)}, where=stage.where
    )
    return Stage(
        ops.PARALLEL_INTERLEAVE,
        inputs=(source,),
        args={"func": read, **_ahead()},
        spec=stage.spec,
        where=stage.where,
        number=stage.number,
    )


def compared(edit: Edit) -> Order:
    return "any" if edit.args.get("way") == "mixed" else "same"


def _comment(place: Place, tune: str) -> str:
    way = place.edit.args.get("way")
    if way == "turns":
        return give_threads(place, tune)
    if way == "mixed":
        return f"give {label(place)} num_parallel_reads={tune}"
    return (
        "read the next files ahead, in the same order: on the dataset of file names "
        ".apply(tf.data.experimental.parallel_interleave(READ, cycle_length=1, "
        "prefetch_input_elements=2, buffer_output_elements=64)), where READ makes the "
        "dataset of one file"
    )


def _edit(source: Source, place: Place) -> None:
    names = {"turns": "num_parallel_calls", "mixed": "num_parallel_reads"}
    name = names.get(str(place.edit.args.get("way")))
    if name is None or not source.takes(name):
        raise CannotEdit(BY_HAND)
    source.set_argument(name, source.autotune())


PATCH = Patch(_comment, _edit)
