"""The next batch is copied to the device while it computes this one

`tf.data.experimental.prefetch_to_device` at the end of the pipeline: the copy of
the next batch and the step on this one go on side by side. Nothing about the
elements changes: exact.

Not run on a GPU so far: with logical CPU devices the copy is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from feedline.fixes.fix import Case, Edit, Kind, Proposal
from feedline.job.pipeline import Pipeline, Stage

KIND: Kind = "pipeline"


def propose(case: Case) -> Iterator[Proposal]:
    machine, step = case.measured.machine, case.measured.step
    copying = step.host_fed.value - step.ceiling.value
    if not machine.accelerated or case.job.strategy or copying <= 0:
        return
    if case.sees_training:
        return
    if any(stage.op == "copy_to_device" for stage in case.pipeline.stages()):
        return
    device = next(name for name in machine.devices if not name.startswith("CPU"))
    yield Proposal(
        Edit("prefetch-to-device", None, {"device": device}),
        "exact",
        case.pipeline.root.where,
        step_ms=max(step.ceiling.value - copying, 0.5 * step.ceiling.value),
    )


def apply(pipeline: Pipeline, edit: Edit) -> Pipeline:
    root = pipeline.root
    copied = Stage(
        "copy_to_device",
        inputs=(root,),
        args={"target_device": f"/{edit.args['device']}"},
        spec=root.spec,
        where=root.where,
    )
    ahead = Stage(
        "prefetch",
        inputs=(copied,),
        args={"buffer_size": 2},
        spec=root.spec,
        where=root.where,
    )
    return replace(pipeline, root=ahead)
