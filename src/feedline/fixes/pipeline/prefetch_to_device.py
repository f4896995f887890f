"""The next batch is copied to the device while it computes this one

`tf.data.experimental.prefetch_to_device` at the end of the pipeline: the next batch is
copied while the step runs on this one. Nothing about the elements changes: exact.

Not run on a GPU so far: between logical CPU devices nothing is copied.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from feedline.fixes import conditions
from feedline.fixes.args import Arg, Takes
from feedline.fixes.fix import CannotFix, Case, Edit, Proposal
from feedline.fixes.patching import CannotEdit, Patch, Source
from feedline.fixes.place import Place
from feedline.job.tfdata import ops
from feedline.job.tfdata.pipeline import Pipeline, Stage

TAKES = Takes(args={"device": Arg(str, needed=True, pattern=r"[A-Z_]+:\d{1,4}")})


def propose(case: Case) -> Iterator[Proposal]:
    machine, step = case.measured.machine, case.measured.step
    copying = step.host_fed.value - step.ceiling.value
    if not machine.accelerated or case.job.strategy or copying <= 0:
        return
    device = next(name for name in machine.devices if not name.startswith("CPU"))
    edit = Edit("prefetch-to-device", None, {"device": device})
    if not conditions.holds(check, case.pipeline, edit):
        return
    yield Proposal(
        edit,
        "exact",
        case.pipeline.root.where,
        step_ms=max(step.ceiling.value - copying, 0.5 * step.ceiling.value),
    )


def check(pipeline: Pipeline, edit: Edit) -> None:
    """Nothing is copied yet, everything may run ahead, and the device is there."""
    if any(stage.op == ops.COPY_TO_DEVICE for stage in pipeline.stages()):
        raise CannotFix("the pipeline copies to a device already")
    conditions.ahead(pipeline)
    if pipeline.handle is not None:
        import tensorflow as tf

        known = [each.name for each in tf.config.list_logical_devices()]
        if not any(name.endswith(f":{edit.args['device']}") for name in known):
            raise CannotFix(f"there is no device {edit.args['device']}")


def apply(pipeline: Pipeline, edit: Edit) -> Pipeline:
    check(pipeline, edit)
    root = pipeline.root
    copied = Stage(
        ops.COPY_TO_DEVICE,
        inputs=(root,),
        args={"target_device": f"/{edit.args['device']}"},
        spec=root.spec,
        where=root.where,
    )
    ahead = Stage(
        ops.PREFETCH,
        inputs=(copied,),
        args={"buffer_size": 2},
        spec=root.spec,
        where=root.where,
    )
    return replace(pipeline, root=ahead)


def _comment(place: Place, _: str) -> str:
    device = place.edit.args.get("device", "GPU:0")
    copy = f'.apply(tf.data.experimental.copy_to_device("/{device}"))'
    return f"end the dataset with {copy}.prefetch(2)"


def _edit(source: Source, place: Place) -> None:
    source.to_end()
    module = source.data_module()
    if module is None:
        raise CannotEdit("this file has no name for tf.data")
    device = json.dumps(f"/{place.edit.args['device']}")
    source.append("apply", f"{module}.experimental.copy_to_device({device})")
    if source.to_next():
        source.append("prefetch", "2")


PATCH = Patch(_comment, _edit, at_end=True)
