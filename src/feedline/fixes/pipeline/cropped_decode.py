"""Of a JPEG only the part that is cut out is decoded

libjpeg can decode a part of a picture and skip most of the rest. Where a map cuts a
part out of what it has just decoded, also at random, only that part is decoded, with a
few more pixels on every side that are cut off again. The pixels come out the same, and
are compared. A file that is broken outside of the part no longer stops the job, so this
is graded numeric.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.fixes.args import Takes
from feedline.fixes.fix import Case, Edit, Grade, Proposal
from feedline.fixes.one_map import proposals, rewritten
from feedline.fixes.patching import Patch, label
from feedline.fixes.place import Place
from feedline.job.tfdata.pipeline import Pipeline

TAKES = Takes(stage=True)
# How much is cut away is not known before it is tried.
_SHARE = 0.6


def propose(case: Case) -> Iterator[Proposal]:
    return proposals(case, "cropped-decode", "numeric", _fits, _SHARE)


def least(edit: Edit) -> Grade:  # noqa: ARG001
    return "numeric"


def apply(pipeline: Pipeline, edit: Edit) -> Pipeline:
    from feedline.fixes.means.rewrite.crop import cropped_decode

    return rewritten(pipeline, edit, _fits, cropped_decode)


def _fits(ops: set[str]) -> bool:
    return "DecodeJpeg" in ops and bool(ops & {"Slice", "StridedSlice"})


def _comment(place: Place, _: str) -> str:
    return (
        f"in {label(place)}, tf.image.decode_and_crop_jpeg for the part that is cut out"
    )


PATCH = Patch(_comment)
