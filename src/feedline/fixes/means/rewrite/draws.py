"""A map that draws random numbers, split into the drawing and the rest.

Under a fixed seed every element has draws of its own: a random operation holds a
state and gives the next numbers whenever it runs. Run in parallel, elements would
take each other's numbers. So the random operations, and nothing else of weight,
stay in a map that runs serially in the old order (`draw`); what is done with the
numbers is deterministic and can run in parallel (`rest`). The operations are copied
with their seeds and run once per element, as before, so the numbers are the same.

The state may also be a variable: a `tf.random.Generator`, or the seed generator of a
Keras layer, which reads a seed, counts up, and draws by a stateless operation. Then
`draw` keeps the reading and the counting, and hands over the seed.

Where what is drawn depends on something dear (a crop on the size of the decoded
picture), a third function, `prepare`, comes first and computes that in parallel.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from feedline.fixes.means.rewrite.chain import consumers_of
from feedline.fixes.means.rewrite.flat import (
    PYTHON,
    CannotRewrite,
    Flat,
    Operation,
    Tensor,
    ancestors,
    as_function,
    called,
    flat,
    inner_ops,
    replay,
    wrapper_of,
)
from feedline.job.tfdata import ops
from feedline.job.tfdata.ops import Fact
from feedline.job.tfdata.pipeline import Pipeline, Stage

AUTOTUNE = -1

# Their state is their own: a kernel that belongs to one iterator.
_KERNEL = re.compile(
    r"^(Random(Crop|Gamma|Poisson|PoissonV2|Shuffle|StandardNormal|Uniform|UniformInt)"
    r"|(Parameterized)?TruncatedNormal|Multinomial|SampleDistortedBoundingBox(V2)?"
    r"|\w*CandidateSampler)$"
)
# Their state is a variable, that lives as long as the program.
_VARIABLE = re.compile(
    r"^(ReadVariableOp|Assign(Add|Sub)?VariableOp|RngReadAndSkip|RngSkip"
    r"|Stateful(Uniform|StandardNormal|TruncatedNormal|RandomBinomial)\w*)$"
)
# Of these nothing is known to stay right when half of it runs elsewhere.
_FOREIGN = re.compile(
    r"^(Print(V2)?|NonDeterministicInts|LookupTable(Insert|Import|Remove)\w*"
    r"|(Stack|Queue|Barrier|Iterator|TensorArray|Summary)\w*|\w*Dataset(V\d)?"
    r"|ResourceScatter\w*|\w*QueueV2|WriteFile|Stage|Unstage)$"
)
_FREE = {"Const", "Placeholder", "Shape", "ShapeN", "Size", "Rank", "NoOp"}
_DEAR = re.compile(r"^(Decode|Encode|Parse|Resize|Conv|.*MatMul|ReadFile|Scale|Crop)")
_SMALL = 4096


@dataclass(frozen=True)
class Split:
    """Each takes what the one before gives: `prepare` (where there is one) the
    element, `rest` gives what the whole function gave. `state` are the handles of
    the variables that are read or written: empty where every iterator has its own
    state."""

    draw: Callable[..., Any]
    rest: Callable[..., Any]
    prepare: Callable[..., Any] | None = None
    state: tuple[Any, ...] = ()


def split(stage: Stage) -> Split:
    """The function of the map `stage` in two, or three."""
    import tensorflow as tf

    one = flat(stage, inside=holds_state)
    drawing = drawing_in(stage, one)
    cut = _frontier(stage, one, drawing)
    names = {op.name for op in drawing}
    draws = _handed_over(one, drawing, names, {tensor.name for tensor in cut})
    _check_handed(stage, cut, draws)

    element = one.input_structure
    parts = tuple(tf.TensorSpec(t.shape, t.dtype) for t in cut)
    handed = (element, parts, tuple(tf.TensorSpec(t.shape, t.dtype) for t in draws))
    count = len(one.inputs)

    def prepare(flat_element: list[Any]) -> list[Any]:
        fed = one.feeds(flat_element)
        return [*flat_element, *replay(one.graph, fed, cut)]

    def draw(given_now: list[Any]) -> list[Any]:
        fed = _fed(one, given_now[:count], cut, given_now[count:])
        return [*given_now, *replay(one.graph, fed, draws, drawing)]

    def rest(given_now: list[Any]) -> list[Any]:
        fed = _fed(one, given_now[:count], [*cut, *draws], given_now[count:])
        return replay(one.graph, fed, one.outputs, one.effects, without=names)

    before = (element, parts)
    return Split(
        draw=as_function(f"draw_{one.name}", before if cut else element, draw, handed),
        rest=as_function(f"rest_of_{one.name}", handed, rest, one.output_structure),
        prepare=as_function(f"prepare_{one.name}", element, prepare, before)
        if cut
        else None,
        state=_variables(one, drawing),
    )


def draw_apart(pipeline: Pipeline, stage: Stage) -> Pipeline:
    """`pipeline` with the serial map `stage` as a serial `draw` and a parallel
    `rest`. Refused where running ahead would draw for elements that are never used
    and so shift what is drawn later, as with the state of a variable: the script may
    look at it before an epoch has ended."""
    if stage.op != ops.MAP or stage.args.get("num_parallel_calls") is not None:
        raise CannotRewrite(stage, "only a serial map has draws in a fixed order")
    if consumers_of(pipeline, stage) > 1:
        raise CannotRewrite(stage, "it feeds more than one stage")
    parts = split(stage)
    if parts.state:
        raise CannotRewrite(
            stage, "it draws from a generator, which would run ahead of the job"
        )
    _check_run_ahead(pipeline, stage)
    parallel = {"num_parallel_calls": AUTOTUNE, "deterministic": True}
    (upstream,) = stage.inputs
    if parts.prepare is not None:
        upstream = Stage(
            ops.MAP,
            (upstream,),
            {"func": parts.prepare, **parallel},
            where=stage.where,
        )
    drawn = Stage(
        ops.MAP,
        (upstream,),
        {"func": parts.draw},
        functions=stage.functions,
        where=stage.where,
        random=True,
    )
    rest = Stage(
        ops.MAP,
        (drawn,),
        {"func": parts.rest, **parallel},
        spec=stage.spec,
        where=stage.where,
        number=stage.number,
    )
    return pipeline.swap(stage, rest)


def _check_run_ahead(pipeline: Pipeline, stage: Stage) -> None:
    """A kernel's state lives as long as its iterator, and a `repeat` keeps one
    iterator: an epoch that is left early goes on, in the next, where the drawing
    stopped."""
    after = pipeline.after(stage)
    if any(one.op == ops.IGNORE_ERRORS for one in after):
        raise CannotRewrite(
            stage,
            "a later stage ignores errors, and whether a failed element has "
            "drawn is chance",
        )
    last = max((n for n, one in enumerate(after) if one.has(Fact.REPEATS)), default=0)
    for one in after[:last]:
        # Else all that is drawn in an epoch is used in that epoch, however far the
        # parallel part runs ahead.
        if not one.has(Fact.READS_TO_END):
            raise CannotRewrite(
                stage,
                f"{one.label()} may stop an epoch early, and what was drawn ahead "
                "would be missing from the next",
            )


def holds_state(op: Operation) -> bool:
    return bool(_KERNEL.match(op.type) or _VARIABLE.match(op.type))


def drawing_in(stage: Stage, one: Flat) -> list[Operation]:
    """The operations with state, in order; refused where they cannot be moved."""
    wrapper_of(stage)
    found = []
    for op in one.ops:
        if op.type in PYTHON:
            raise CannotRewrite(stage, "it runs Python for every element")
        if _FOREIGN.match(op.type):
            raise CannotRewrite(stage, f"it has a {op.type}, which holds other state")
        if holds_state(op):
            found.append(op)
        for inner in inner_ops(op) if any(called(op)) else ():
            if inner.type in PYTHON or _FOREIGN.match(inner.type):
                raise CannotRewrite(stage, f"it has a {inner.type} inside {op.type}")
            if holds_state(inner):
                raise CannotRewrite(
                    stage, f"it draws inside a condition or a loop ({op.type})"
                )
    if not any(_KERNEL.match(op.type) for op in found) and not _advances(found):
        raise CannotRewrite(stage, "it draws no random numbers")
    alive = ancestors(one.outputs, one.effects)
    return [op for op in found if op.name in alive]


def _advances(drawing: Iterable[Operation]) -> bool:
    return any(
        _VARIABLE.match(op.type) and op.type != "ReadVariableOp" for op in drawing
    )


def is_cheap(op: Operation) -> bool:
    """Little work, on little data."""
    if op.type in _FREE:
        return True
    if _DEAR.match(op.type) or any(called(op)):
        return False
    sizes = [t.shape.num_elements() for t in (*op.inputs, *op.outputs)]
    return all(size is not None and size <= _SMALL for size in sizes)


def _frontier(stage: Stage, one: Flat, drawing: list[Operation]) -> list[Tensor]:
    """What leaves the part that has to be computed before the draws and is too dear
    to be computed serially: everything that a draw, or the rest, takes from it."""
    names = {op.name for op in drawing}
    before = ancestors([tensor for op in drawing for tensor in op.inputs]) - names
    ops = {op.name: op for op in one.ops}
    dear = [op for name, op in ops.items() if name in before and not is_cheap(op)]
    below = ancestors([tensor for op in dear for tensor in op.outputs])
    if below & names:
        raise CannotRewrite(stage, "what it draws depends on what it made of a draw")
    outputs = {tensor.name for tensor in one.outputs}
    return [
        tensor
        for name, op in ops.items()
        if name in below and op.type not in ("Placeholder", "Const")
        for tensor in op.outputs
        if tensor.name in outputs
        or any(use.name not in below for use in tensor.consumers())
    ]


def _handed_over(
    one: Flat, drawing: list[Operation], names: set[str], cut: set[str]
) -> list[Tensor]:
    """What the rest takes from the drawing operations."""
    users = ancestors(one.outputs, one.effects, fed=cut, without=names)
    outputs = {tensor.name for tensor in one.outputs}
    return [
        tensor
        for op in drawing
        for tensor in op.outputs
        if tensor.name in outputs
        or any(use.name in users for use in tensor.consumers())
    ]


def _check_handed(stage: Stage, cut: list[Tensor], draws: list[Tensor]) -> None:
    for tensor in (*cut, *draws):
        if tensor.dtype.name in ("resource", "variant"):
            raise CannotRewrite(stage, f"{tensor.op.type} does not give a plain tensor")
    for tensor in draws:
        size = tensor.shape.num_elements()
        if tensor.op.type == "ReadVariableOp" and (size is None or size > _SMALL):
            raise CannotRewrite(stage, "it reads a large variable for every element")


def _variables(one: Flat, drawing: list[Operation]) -> tuple[Any, ...]:
    used = {tensor.name for op in drawing for tensor in op.inputs}
    return tuple(
        outside
        for outside, inside in one.captures
        if inside.name in used and inside.dtype.name == "resource"
    )


def _fed(
    one: Flat, element: list[Any], tensors: list[Tensor], values: list[Any]
) -> dict[str, Any]:
    fed = one.feeds(element)
    return fed | {t.name: v for t, v in zip(tensors, values, strict=True)}
