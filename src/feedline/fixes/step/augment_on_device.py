"""The device augments the pictures

Random flips, crops and colours move from the map into the training step, where an
accelerator does them quickly and the host's cores are free. The distributions stay the
same, but a whole batch is drawn at once and the device rounds differently: numeric.

Not run on a GPU so far: its parts are tested on the CPU, with logical devices.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes import host_augmentation
from feedline.causes.asking import without
from feedline.fixes import conditions, in_step
from feedline.fixes.args import Takes
from feedline.fixes.fix import Case, Edit, Grade, Proposal
from feedline.fixes.in_step import apply, check, install, last_map
from feedline.fixes.patching import Patch

__all__ = ["PATCH", "TAKES", "apply", "install", "least", "propose"]

TAKES = Takes(stage=True)


def propose(case: Case) -> Iterator[Proposal]:
    if case.job.kind != "fit" or case.job.strategy:
        return
    if any(edit.fix.endswith("-on-device") for edit in case.edits):
        return
    stage = last_map(case.pipeline)
    cost = case.cost(stage) if stage is not None else None
    findings = list(host_augmentation.detect(case.job, case.measured))
    if stage is None or cost is None or not findings or not case.movable(stage):
        return
    edit = Edit("augment-on-device", stage.number)
    if not conditions.holds(check, case.pipeline, edit):
        return
    yield Proposal(
        edit,
        "numeric",
        stage.where,
        costs=without(case.measured, [cost]),
    )


def least(edit: Edit) -> Grade:  # noqa: ARG001
    return "numeric"


PATCH = Patch(in_step.comment)
