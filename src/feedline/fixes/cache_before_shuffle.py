"""What follows a shuffle is computed once

File names are shuffled, then the files are read and decoded, in every epoch anew:
`list_files`, or Keras' `image_dataset_from_directory`. A cache after the decoding
would freeze the order. But a shuffle draws positions, whatever stands at them: the
maps that follow it can go before it, with a cache between them, and the very same
elements come in the very same order: exact.

Only where all decoded elements fit into half of the free memory, and only for maps
that give the same for the same element, be it that their Python is seen to keep no
state. The first epoch begins later: the buffer
is filled with decoded elements before the first of them comes out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from feedline.causes.look import passes, steps_per_pass, upstream, varies, without
from feedline.fixes.args import Takes, number
from feedline.fixes.cache import BREAKS_OFF, kept
from feedline.fixes.fix import CannotFix, Case, Edit, Kind, Proposal, find
from feedline.job.pipeline import Pipeline, Stage

KIND: Kind = "pipeline"
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
    for shuffle in case.pipeline.find("shuffle"):
        if shuffle.number in case.used or not _repeats(shuffle.inputs[0]):
            continue
        maps = _maps_after(case.pipeline, shuffle)
        last = case.cost(maps[-1]) if maps else None
        if last is None or not case.movable(maps[-1]):
            continue
        if any(s.op in BREAKS_OFF for s in case.pipeline.after(maps[-1])):
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
    if shuffle.op != "shuffle" or not _repeats(shuffle.inputs[0]):
        raise CannotFix(f"{shuffle.label()} is no shuffle of what stays the same")
    maps = _maps_after(pipeline, shuffle)[: edit.args.get("maps", 0)]
    if not maps:
        raise CannotFix(f"no map that always gives the same follows {shuffle.label()}")
    front = shuffle.inputs[0]
    for one in maps:
        front = replace(one, inputs=(front,))
    front = kept(front, edit.args.get("trial"))
    return pipeline.swap(maps[-1], replace(shuffle, inputs=(front,), spec=front.spec))


def _repeats(front: Stage) -> bool:
    """Does it give the same in every epoch, and may it be read again?"""
    return all(
        not varies(each) and each.rereadable and not each.python and each.op != "repeat"
        for each in upstream(front)
    )


def _maps_after(pipeline: Pipeline, shuffle: Stage) -> list[Stage]:
    """The maps that follow a shuffle and give the same for the same element."""
    found: list[Stage] = []
    for before, stage in zip(
        [shuffle, *pipeline.after(shuffle)], pipeline.after(shuffle), strict=False
    ):
        alone = sum(before is e for s in pipeline.stages() for e in s.inputs) == 1
        if not alone or stage.op != "map" or not _pure(stage):
            break
        found.append(stage)
    return found


def _pure(stage: Stage) -> bool:
    return (
        bool(stage.functions)
        and stage.args.get("deterministic") is not False
        and stage.pure
        and not any(f.random or f.stateful for f in stage.functions)
    )
