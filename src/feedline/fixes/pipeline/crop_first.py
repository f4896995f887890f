"""Colours are shifted after the crop, not before it

A crop throws most of a picture away. What a map does to each pixel separately before
that (hue, saturation, a factor) gives the same numbers afterwards, on fewer pixels: the
operations are the same, with the same draws, so it is exact. What depends on other
pixels, such as contrast on their mean, stays before the crop.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline.fixes.args import Takes
from feedline.fixes.fix import Case, Edit, Proposal
from feedline.fixes.one_map import proposals, rewritten
from feedline.fixes.patching import Patch, label
from feedline.fixes.place import Place
from feedline.job.tfdata.pipeline import Pipeline

TAKES = Takes(stage=True)
_DEAR = {"AdjustHue", "AdjustSaturation"}
# How much is cut away is not known before it is tried.
_SHARE = 0.6


def propose(case: Case) -> Iterator[Proposal]:
    return proposals(case, "crop-first", "exact", _fits, _SHARE)


def apply(pipeline: Pipeline, edit: Edit) -> Pipeline:
    from feedline.fixes.means.rewrite.delay import delayed

    return rewritten(pipeline, edit, _fits, delayed)


def _fits(ops: set[str]) -> bool:
    return "Slice" in ops and bool(ops & _DEAR)


def _comment(place: Place, _: str) -> str:
    return (
        f"in {label(place)}, what is done to each pixel by itself (hue, saturation) "
        "after the crop"
    )


PATCH = Patch(_comment)
