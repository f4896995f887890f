"""What Python computes for every batch is computed once and kept

A generator or a `PyDataset` that decodes the same files, or parses the same lines, in
every epoch: the results of the functions that do it are kept in memory, and the same
call gets a copy. That works for functions of yours that are seen only to compute, for
Keras' `load_img` (`flow_from_directory`) and for the pixels that Pillow decodes. What
draws random numbers is computed each time, from the same generator in the same order:
exact.

A function must take numbers, text or paths, and otherwise read only immutable values. A
file that changes is read again. At most a quarter of the free memory is used; what does
not fit is computed as before.

It reads nothing twice, so it also works where no experiment is possible: it is applied
at once, watched while the job trains, and removed if it does not pay.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from feedline.causes.asking import passes
from feedline.fixes import conditions
from feedline.fixes.args import Takes
from feedline.fixes.fix import AtOnce, CannotFix, Case, Edit, Proposal
from feedline.fixes.means.errors import Refused
from feedline.fixes.patching import Patch, label
from feedline.fixes.place import Place
from feedline.job.tfdata import ops
from feedline.job.tfdata.pipeline import Pipeline, Stage

TAKES = Takes(stage=True)
KEEPS = True
_KEPT = 0.5  # of what the Python costs: a guess before anything was tried


def propose(case: Case) -> Iterator[Proposal]:
    if passes(case.job) <= 1:
        return
    for stage in case.pipeline.find(ops.FROM_GENERATOR):
        cost = case.cost(stage)
        if cost is None or stage.handle is None or not case.movable(stage):
            continue
        try:
            _kept(stage)
        except Refused:
            continue
        costs = case.with_cost(
            cost,
            ms_per_batch=(1 - _KEPT) * cost.ms_per_batch,
            ms_per_element=(1 - _KEPT) * cost.ms_per_element,
        )
        yield Proposal(Edit("keep-results", stage.number), "exact", stage.where, costs)


def check(pipeline: Pipeline, edit: Edit) -> Stage:
    stage = conditions.stage_of(pipeline, edit, ops.FROM_GENERATOR)
    if stage.handle is None:
        raise CannotFix(f"{stage.label()} was not read from a dataset")
    return stage


def apply(pipeline: Pipeline, edit: Edit) -> Pipeline:
    stage = check(pipeline, edit)
    try:
        kept = _kept(stage)
    except Refused as reason:
        raise CannotFix(str(reason)) from reason
    return pipeline.swap(stage, replace(kept.stage(), number=stage.number))


def at_once(pipeline: Pipeline) -> Iterator[AtOnce]:
    """Of each generator that keeps anything."""
    for stage in pipeline.find(ops.FROM_GENERATOR):
        if stage.handle is None:
            continue
        try:
            kept = _kept(stage)
        except Refused:
            continue
        proposal = Proposal(Edit("keep-results", stage.number), "exact", stage.where)
        yield AtOnce(proposal, kept.counts, kept.stop, kept.came_to)


def _kept(stage: Stage) -> Any:
    """Kept once for a stage, however often the edit is applied."""
    from feedline.fixes.means.kept.stage import kept_stage

    key = id(stage.handle.dataset)
    if key not in _KNOWN:
        _KNOWN[key] = (stage.handle, kept_stage(stage))
    return _KNOWN[key][1]


_KNOWN: dict[int, tuple[Any, Any]] = {}


def _comment(place: Place, _: str) -> str:
    return (
        f"{label(place)} computes the same in every epoch; `feedline run` keeps what "
        "its pure functions return. Or keep it yourself: functools.cache over the "
        "function that loads one example, and a copy of what it returns"
    )


PATCH = Patch(_comment)
