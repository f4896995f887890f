"""Several files are read at once

Three ways, by what may change.

- An `interleave` that reads its files by turns on one thread: the same turns on
  several (`num_parallel_calls`), order kept. Exact.
- Files read one after the other (`TFRecordDataset(files)`, `flat_map`): the next
  files are opened and read ahead while the first is being used, and handed on in
  the same order. Exact.
- The same, mixing the records of several files (`num_parallel_reads`): faster
  where one file alone is slow to read. The order changes: reordered, and left alone
  where a later stage would make other elements in another order (`unordered` says
  which).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from feedline.causes.look import reads_records
from feedline.fixes.fix import CannotFix, Case, Edit, Grade, Kind, Proposal, find
from feedline.fixes.order import let_go, order_decides
from feedline.job.pipeline import Pipeline, Stage
from feedline.measure.measurement import StageCost

KIND: Kind = "pipeline"
AUTOTUNE = -1
_READERS = ("tfrecord", "text_line", "fixed_length_record")
_AHEAD = 2
_BUFFER = 64


def propose(case: Case) -> Iterator[Proposal]:
    for stage in case.pipeline.stages():
        cost = case.cost(stage)
        if cost is None or not reads_records(stage) or not case.movable(stage):
            continue
        if stage.random or stage.python or any(f.stateful for f in stage.functions):
            continue
        serial = stage.args.get("num_parallel_calls") in (None, 0, 1)
        if stage.op == "interleave" and serial and stage.args["cycle_length"] != 1:
            yield _proposal(case, stage, cost, "turns", "exact")
        elif stage.op == "flat_map":
            yield _proposal(case, stage, cost, "ahead", "exact")
        elif stage.op in _READERS and _one_after_the_other(stage):
            yield _proposal(case, stage, cost, "ahead", "exact")
            if order_decides(case.pipeline, stage) is None:
                yield _proposal(case, stage, cost, "mixed", "reordered")


def least(edit: Edit) -> Grade:
    return "reordered" if edit.args.get("way") == "mixed" else "exact"


def apply(pipeline: Pipeline, edit: Edit) -> Pipeline:
    stage = find(pipeline, edit.stage)
    way = edit.args["way"]
    if way == "turns":
        new = replace(stage, args={**stage.args, "num_parallel_calls": AUTOTUNE})
    elif way == "mixed":
        let_go(pipeline, stage)
        new = replace(stage, args={**stage.args, "num_parallel_reads": AUTOTUNE})
    elif stage.op == "flat_map":
        new = replace(stage, op="parallel_interleave", args=_ahead())
    elif stage.op in _READERS:
        new = _reader_ahead(stage)
    else:
        raise CannotFix(f"{stage.label()} does not read files one after the other")
    return pipeline.swap(stage, new)


def _proposal(
    case: Case, stage: Stage, cost: StageCost, way: str, grade: str
) -> Proposal:
    threads = min(case.measured.machine.cores, _AHEAD)
    wide = replace(cost, asynchronous=True, parallelism=threads)
    return Proposal(
        Edit("interleave", stage.number, {"way": way}),
        grade,  # type: ignore[arg-type]
        stage.where,
        tuple(wide if each is cost else each for each in case.costs),
    )


def _one_after_the_other(stage: Stage) -> bool:
    names = stage.args.get("filenames")
    several = isinstance(names, list | tuple) and len(names) > 1
    return several and stage.args.get("num_parallel_reads") in (None, 0, 1)


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

        classes = {
            "tfrecord": tf.data.TFRecordDataset,
            "text_line": tf.data.TextLineDataset,
            "fixed_length_record": tf.data.FixedLengthRecordDataset,
        }
        return classes[stage.op](name, **args)

    source = Stage(
        "from_tensor_slices", args={"tensors": list(names)}, where=stage.where
    )
    return Stage(
        "parallel_interleave",
        inputs=(source,),
        args={"func": read, **_ahead()},
        spec=stage.spec,
        where=stage.where,
        number=stage.number,
    )
