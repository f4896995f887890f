"""Compute once what follows a shuffle

File names are shuffled, then the files are read and decoded, again in every epoch:
`list_files`, or Keras' `image_dataset_from_directory`. A cache after the decoding would
freeze the order. But a shuffle draws positions, whatever elements are there: the maps
that follow it can go before it, with a cache between them, and the same elements come
in the same order: exact.

Only where all decoded elements fit into half of the free memory, and only for maps that
always give the same for the same element; if their files change, the data is read
without the cache from the next epoch on. The first epoch begins later, because the
buffer is filled with decoded elements before the first of them comes out. An element
that cannot be decoded fails at that point.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from feedline.causes.asking import passes, steps_per_pass, upstream, without
from feedline.fixes.args import Takes, number
from feedline.fixes.fix import CannotFix, Case, Edit, Proposal, find
from feedline.fixes.keeping import check, kept, why_not
from feedline.fixes.patching import CannotEdit, Patch, Source, label
from feedline.fixes.place import Place
from feedline.job.tfdata import ops
from feedline.job.tfdata.constant import repeats_without_python, same_for_the_same
from feedline.job.tfdata.pipeline import Pipeline, Stage

KEEPS = True
TAKES = Takes(stage=True, args={"maps": number(1, 10_000)})


def propose(case: Case) -> Iterator[Proposal]:
    steps = steps_per_pass(case.job, case.measured)
    if any(edit.fix == "cache-before-shuffle" for edit in case.edits):
        return
    if steps is None or passes(case.job) < 2:
        return
    # A cache further up is read no more once this one is full, but it is kept.
    shared = sum(edit.fix == "cache" for edit in case.edits) + 1
    room = case.measured.machine.free_memory_gb * 1e9 / 2 / shared
    for shuffle in case.pipeline.find(ops.SHUFFLE):
        if shuffle.number in case.used or not repeats_without_python(shuffle.inputs[0]):
            continue
        maps = _maps_after(case.pipeline, shuffle)
        last = case.cost(maps[-1]) if maps else None
        if last is None or not case.movable(maps[-1]):
            continue
        after, options = case.pipeline.after(maps[-1]), case.pipeline.options
        front = _moved(shuffle, maps)
        if why_not(front, after, options, strategy=case.job.strategy, moved=True):
            continue
        size = last.bytes_per_element * last.elements_per_batch * steps
        spared = map(case.cost, [*upstream(shuffle.inputs[0]), *maps])
        if 0 < size <= room:
            yield Proposal(
                Edit("cache-before-shuffle", shuffle.number, {"maps": len(maps)}),
                "exact",
                maps[-1].where,
                without(
                    replace(case.measured, stages=case.costs),
                    [cost for cost in spared if cost is not None],
                ),
                note=f"{size:.0f} bytes",
            )


def apply(pipeline: Pipeline, edit: Edit) -> Pipeline:
    shuffle = find(pipeline, edit.stage)
    if shuffle.op != ops.SHUFFLE or not repeats_without_python(shuffle.inputs[0]):
        raise CannotFix(f"{shuffle.label()} does not shuffle what stays the same")
    wanted = edit.args.get("maps", 0)
    maps = _maps_after(pipeline, shuffle)[:wanted]
    if not maps or len(maps) < wanted:
        raise CannotFix(
            f"{wanted} maps that always give the same should follow {shuffle.label()}, "
            f"and {len(maps)} do"
        )
    front = _moved(shuffle, maps)
    check(pipeline, front, pipeline.after(maps[-1]), edit, moved=True)
    front = kept(pipeline, front, edit)
    return pipeline.swap(maps[-1], replace(shuffle, inputs=(front,), spec=front.spec))


def _moved(shuffle: Stage, maps: list[Stage]) -> Stage:
    """The maps, without the shuffle before them."""
    front = shuffle.inputs[0]
    for one in maps:
        front = replace(one, inputs=(front,))
    return front


def _maps_after(pipeline: Pipeline, shuffle: Stage) -> list[Stage]:
    """The maps that follow a shuffle and give the same for the same element."""
    found: list[Stage] = []
    for before, stage in zip(
        [shuffle, *pipeline.after(shuffle)], pipeline.after(shuffle), strict=False
    ):
        alone = sum(before is e for s in pipeline.stages() for e in s.inputs) == 1
        if not alone or not same_for_the_same(stage):
            break
        found.append(stage)
    return found


def _comment(place: Place, _: str) -> str:
    count = place.edit.args.get("maps", 1)
    maps = ops.MAP if count == 1 else f"{count} maps"
    return f"put .cache() and then .{label(place)} after the {maps} that follows it"


def _edit(source: Source, place: Place) -> None:
    count = int(place.edit.args["maps"])
    if len(list(islice(source.passed_by((ops.MAP,)), count))) < count:
        raise CannotEdit("the maps that follow it are not in the same chain")
    source.append_before("cache")


PATCH = Patch(_comment, _edit)
