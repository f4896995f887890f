"""Which parts of an element pass through a map untouched, and what that allows.

A filter that asks for nothing a map has made can stand before the map, which then
does not work for elements that are thrown away. A shuffle looks at no element at
all: before the map, its buffer holds file names instead of pictures. Both keep the
elements and their order: a filter keeps what it kept, and a shuffle with the same
seed and buffer draws the same places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from feedline.fixes.means.rewrite.chain import consumers_of
from feedline.fixes.means.rewrite.draws import is_cheap
from feedline.fixes.means.rewrite.flat import (
    CannotRewrite,
    Flat,
    Operation,
    ancestors,
    as_function,
    flat,
    replay,
)
from feedline.fixes.means.rewrite.total import can_fail
from feedline.job.tfdata import ops
from feedline.job.tfdata.ops import Fact
from feedline.job.tfdata.pipeline import Pipeline, Stage

_PASSES_ON = {"Identity", "Placeholder", "Const", "StopGradient", "NoOp"}


def filter_first(pipeline: Pipeline, stage: Stage) -> Pipeline:
    """`pipeline` with the filter `stage` before the maps that stand before it, as
    far as what it asks for is there or cheap to have. Never before a map that fails on
    some elements (decoding, parsing): an element that is thrown away would no longer
    stop the job."""
    if stage.op != ops.FILTER:
        raise CannotRewrite(stage, "it is not a filter")
    _check_pure(stage, stage)
    maps: list[Flat] = []

    def check(passed: Stage) -> None:
        one = flat(passed)
        fails = can_fail(one.ops)
        if fails:
            raise CannotRewrite(
                stage,
                f"{passed.label()} may fail on an element that the filter throws "
                f"away ({', '.join(fails)})",
            )
        _check_cheap(stage, passed, [one, *maps, flat(stage)])
        maps.insert(0, one)

    passed = _walk_up(pipeline, stage, Fact.PASSES_ON, check)
    source = passed[-1].inputs[0]
    new = Stage(
        ops.FILTER,
        (source,),
        {"func": _composed([*maps, flat(stage)])},
        functions=stage.functions,
        spec=source.spec,
        where=stage.where,
        number=stage.number,
    )
    return _put_before(pipeline, stage, passed, new)


def shuffle_first(pipeline: Pipeline, stage: Stage) -> Pipeline:
    """`pipeline` with the shuffle `stage` before the maps that stand before it. A
    map that fails on an element fails later than before: when the element leaves
    the buffer, not when it enters."""
    if stage.op != ops.SHUFFLE:
        raise CannotRewrite(stage, "it is not a shuffle")
    if consumers_of(pipeline, stage) > 1:
        raise CannotRewrite(stage, "it feeds more than one stage")
    if any(one.op == ops.IGNORE_ERRORS for one in pipeline.after(stage)):
        raise CannotRewrite(stage, "a later stage ignores errors of the maps before it")
    passes = Fact.PASSES_ON | Fact.SAYS_ONLY
    passed = _walk_up(pipeline, stage, passes, lambda _: None)
    source = passed[-1].inputs[0]
    new = replace(stage, inputs=(source,), spec=source.spec)
    return _put_before(pipeline, stage, passed, new)


def _passes(stage: Stage, facts: Fact) -> bool:
    return bool(ops.facts(stage.op) & facts)


def _walk_up(
    pipeline: Pipeline, stage: Stage, passes: Fact, check: Callable[[Stage], None]
) -> list[Stage]:
    """The stages that `stage` can move before, nearest first, ending in a map: maps,
    and those for which one of the facts `passes` holds."""
    passed: list[Stage] = []
    maps = 0
    refusal = "there is no map before it"
    (upstream,) = stage.inputs
    while _passes(upstream, passes) or upstream.op == ops.MAP:
        try:
            if consumers_of(pipeline, upstream) > 1:
                raise CannotRewrite(stage, f"{upstream.label()} feeds several stages")
            if upstream.op == ops.MAP:
                _check_pure(stage, upstream)
                if upstream.args.get("deterministic") is False:
                    raise CannotRewrite(stage, f"{upstream.label()} keeps no order")
                check(upstream)
        except CannotRewrite as error:
            refusal = error.reason
            break
        passed.append(upstream)
        maps = len(passed) if upstream.op == ops.MAP else maps
        (upstream,) = upstream.inputs
    if not maps:
        raise CannotRewrite(stage, refusal)
    return passed[:maps]


def _put_before(
    pipeline: Pipeline, stage: Stage, passed: list[Stage], new: Stage
) -> Pipeline:
    for one in reversed(passed):
        new = replace(one, inputs=(new,))
    return pipeline.swap(stage, new)


def _check_pure(stage: Stage, passed: Stage) -> None:
    """Gives the same for the same element."""
    if not passed.functions:
        raise CannotRewrite(stage, f"the function of {passed.label()} is not known")
    for one in passed.functions:
        if one.python:
            raise CannotRewrite(stage, f"{passed.label()} runs Python")
        if one.random:
            raise CannotRewrite(stage, f"{passed.label()} draws random numbers")
        if one.stateful or one.outside:
            raise CannotRewrite(stage, f"{passed.label()} reads or holds state")


def _check_cheap(stage: Stage, passed: Stage, functions: list[Flat]) -> None:
    """What the last function asks for must cost little in all before it."""
    *maps, last = functions
    places = _used(last, range(len(last.outputs)), last.effects)
    for one in reversed(maps):
        wanted = [one.outputs[n] for n in places]
        needed = ancestors(wanted)
        for op in one.ops:
            if op.name in needed and not _is_free(op):
                raise CannotRewrite(
                    stage, f"it asks for what {passed.label()} makes ({op.type})"
                )
        places = _used(one, places)


def _is_free(op: Operation) -> bool:
    """Passed on, or cheap and without rounding: a number that is computed once for
    the filter and once for the element must come out the same, and in two functions
    TensorFlow may add up in two orders."""
    if op.type in _PASSES_ON:
        return True
    rounds = any(t.dtype.is_floating or t.dtype.is_complex for t in op.outputs)
    return is_cheap(op) and not rounds


def _used(
    one: Flat, places: Iterable[int], effects: Iterable[Operation] = ()
) -> list[int]:
    """The inputs that the outputs at `places` need."""
    needed = ancestors([one.outputs[n] for n in places], effects)
    return [n for n, tensor in enumerate(one.inputs) if tensor.op.name in needed]


def _composed(functions: list[Flat]) -> Callable[..., Any]:
    """The functions one after the other, computing only what the last one needs."""
    *maps, last = functions
    places = [_used(last, range(len(last.outputs)), last.effects)]
    for one in reversed(maps[1:]):
        places.insert(0, _used(one, places[0]))

    def compute(element: list[Any]) -> list[Any]:
        values = dict(enumerate(element))
        for one, wanted in zip(maps, places, strict=True):
            fed = one.feeds([values.get(n) for n in range(len(one.inputs))])
            found = replay(one.graph, fed, [one.outputs[n] for n in wanted])
            values = dict(zip(wanted, found, strict=True))
        fed = last.feeds([values.get(n) for n in range(len(last.inputs))])
        return replay(last.graph, fed, last.outputs, last.effects)

    first = functions[0]
    return as_function(last.name, first.input_structure, compute, last.output_structure)
