"""Use a larger batch, if training still works

Fewer and larger steps train differently: the learning rate must be tuned again, and the
result may be better or worse. So this is advice, with the measured curve, and never
applied.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.causes import small_batch
from feedline.fixes.args import Takes, number
from feedline.fixes.fix import Case, Edit, Proposal
from feedline.fixes.patching import Patch
from feedline.fixes.place import Place

TAKES = Takes(args={"batch_size": number(1)})


def propose(case: Case) -> Iterator[Proposal]:
    for finding in small_batch.detect(case.job, case.measured):
        own = case.measured.step.batch_size or 1
        curve = dict(case.measured.step.curve)
        best = min(curve, key=lambda size: curve[size] / size)
        told = (f"{size}: {ms:.1f} ms" for size, ms in sorted(curve.items()))
        yield Proposal(
            Edit("larger-batch", None, {"batch_size": best}),
            "advice",
            finding.where,
            step_ms=curve[best] * own / best,
            note=f"Batch size and step, measured: {', '.join(told)}",
        )


def _comment(place: Place, _: str) -> str:
    return f"a batch of {place.edit.args.get('batch_size')}, if training still works"


PATCH = Patch(_comment)
