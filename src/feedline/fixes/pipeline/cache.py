"""Compute once what is the same in every epoch

A cache as near the end as possible: after everything that gives the same result each
time, before the first shuffle or random draw. In memory where the elements fit into
half of what is free, else in a store on disk that is bounded, checksummed and used
again by the next run of the same pipeline. The elements are the same, so the fix is
exact. The first epoch is as slow as before.

Files that the kept part reads are checked when an epoch begins (size, times, inode, and
a sample of the content), and so are the values that Python in it reads. Once one of
them has changed, the data is read without the cache.

Not used after anything that prints, writes, counts, draws or reads a variable; nor
after your Python, unless its code shows that it keeps no state; nor after more than
10,000 files; nor where an epoch stops before the end of the data, because the cache
would never fill. If the pipeline may give its elements in any order
(`deterministic=False`), the cache keeps one order for all epochs: that is graded
reordered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from feedline.causes.asking import passes, without
from feedline.causes.recomputed_every_epoch import best_place
from feedline.fixes.args import Takes, flag
from feedline.fixes.fix import CannotFix, Case, Edit, Grade, Proposal, find
from feedline.fixes.keeping import check, evidence, kept, why_not
from feedline.fixes.patching import BY_HAND, CannotEdit, Patch, Source, label
from feedline.fixes.place import Place
from feedline.job.tfdata.constant import unordered
from feedline.job.tfdata.pipeline import Pipeline, Stage
from feedline.measure.measurement import Estimate, Measurement
from feedline.measure.predict import predict_step

KEEPS = True
TAKES = Takes(stage=True, args={"on_disk": flag()})


def propose(case: Case) -> Iterator[Proposal]:
    if any(edit.fix.startswith("cache") for edit in case.edits):
        return
    measured = _as_it_stands(case)
    place = best_place(case.job, measured)
    if place is None or passes(case.job) < 2:
        return
    number = place.point.cost.index
    stage = case.stage(number)
    after = case.pipeline.after(stage)
    options = case.pipeline.options
    reordered = unordered(stage, options)
    reason = why_not(
        stage, after, options, strategy=case.job.strategy, reordered=reordered
    )
    if reason or not case.movable(stage):
        return
    disk = case.measured.machine.free_disk_gb * 1e9 / 2
    if place.on_disk and place.kept > disk:
        return
    args = {"on_disk": place.on_disk} | ({"reordered": True} if reordered else {})
    edit = Edit("cache", number, args)
    yield Proposal(
        edit,
        least(edit),
        stage.where,
        without(measured, [each.cost for each in place.front]),
        note=f"{place.kept:.0f} bytes",
    )


def apply(pipeline: Pipeline, edit: Edit) -> Pipeline:
    stage = find(pipeline, edit.stage)
    check(pipeline, stage, pipeline.after(stage), edit)
    if edit.args.get("on_disk") and not edit.args.get("trial"):
        return pipeline.swap(stage, _stored(pipeline, stage, edit))
    return pipeline.swap(stage, kept(pipeline, stage, edit))


def least(edit: Edit) -> Grade:
    return "reordered" if edit.args.get("reordered") else "exact"


def _as_it_stands(case: Case) -> Measurement:
    """The measurement after the edits so far. Where the step was made shorter the
    input may be what it waits for now, though it did not when it was measured."""
    measured = replace(case.measured, stages=case.costs)
    if case.step_ms is None:
        return measured
    step = measured.step
    shorter = min(1.0, case.step_ms / max(step.ceiling.value, 1e-9))
    cpu = (step.cpu or 0.0) * shorter
    alone = Estimate(case.step_ms, case.step_ms, case.step_ms)
    expected = predict_step(
        case.costs,
        ceiling_ms=case.step_ms,
        step_cpu_ms=cpu,
        cores=measured.machine.cores,
    )
    observed = Estimate(expected, expected, expected)
    step = replace(
        step, observed=observed, host_fed=alone, ceiling=alone, cpu=cpu, epoch_start=0.0
    )
    return replace(measured, step=step)


def _stored(pipeline: Pipeline, stage: Stage, edit: Edit) -> Stage:
    """What this stage gives, from the store on disk, or kept there by the way."""
    from feedline.fixes.means.store import Store
    from feedline.fixes.means.store.fingerprint import key_or_reason
    from feedline.job.tfdata.read import read
    from feedline.job.tfdata.rebuild import rebuild

    # First what the elements depend on, then the key: a file that changes between
    # the two is seen.
    watched = evidence(pipeline, stage)
    reordered = bool(edit.args.get("reordered"))
    key, reason = key_or_reason(pipeline, stage, reordered=reordered)
    if key is None:
        raise CannotFix(f"{stage.label()} may not be kept on disk: {reason}")
    source = rebuild(replace(pipeline, root=stage))
    found = Store().remember(key, source, watched)
    return replace(read(found).root, where=stage.where, number=stage.number)


def _comment(place: Place, _: str) -> str:
    if place.edit.args.get("on_disk"):
        return (
            f"keep what {label(place)} gives on a local disk: .cache(FILE) right "
            "after it; remove FILE when the data or the code before it change"
        )
    return f".cache() right after {label(place)}"


def _edit(source: Source, place: Place) -> None:
    if place.edit.args.get("on_disk"):
        raise CannotEdit(BY_HAND)
    source.append("cache")


PATCH = Patch(_comment, _edit)
