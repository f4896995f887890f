"""A JPEG that is made smaller anyway is decoded small

libjpeg can decode a picture at a half, a quarter or an eighth of its size for a
fraction of the work. Where a resize to a smaller size follows, that is used, and
the resize does the rest. The pixels differ a little: numeric.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.fixes.args import Takes
from feedline.fixes.fix import Case, Edit, Grade, Order, Proposal
from feedline.fixes.one_map import proposals, rewritten
from feedline.fixes.patching import Patch, label
from feedline.fixes.place import Place
from feedline.job.tfdata.pipeline import Pipeline

TAKES = Takes(stage=True)
# A half-size decode of a photograph was measured at about that part of the work.
_SHARE = 0.5


def propose(case: Case) -> Iterator[Proposal]:
    return proposals(case, "scaled-decode", "numeric", _fits, _SHARE)


def least(edit: Edit) -> Grade:  # noqa: ARG001
    return "numeric"


def apply(pipeline: Pipeline, edit: Edit) -> Pipeline:
    from feedline.fixes.means.rewrite.jpeg import scaled_decode

    return rewritten(pipeline, edit, _fits, scaled_decode)


def _fits(ops: set[str]) -> bool:
    return "DecodeJpeg" in ops and any(op.startswith("Resize") for op in ops)


def compared(_: Edit) -> Order:
    return "values may differ"


def _comment(place: Place, _: str) -> str:
    return (
        f"in {label(place)}, tf.io.decode_jpeg(..., ratio=2), 4 or 8 where the resize "
        "makes the picture smaller still"
    )


PATCH = Patch(_comment)
