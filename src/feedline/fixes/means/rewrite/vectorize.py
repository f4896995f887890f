"""A map function once per batch instead of once per element.

`vectorized` gives the function, `vectorize_pipeline` puts it behind the batch. The two
pipelines must be compared on real elements (`prove/` does): TensorFlow optimizes a
function by its shapes and may add up in another order when there is one axis more.

Refused: what draws random numbers, holds state or runs Python; elements whose
tensors are ragged, sparse, datasets or of unknown shape, since they do not stack
before the map has made them equal; operations in no table of `batched.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from feedline.fixes.means.rewrite.batched import Batched, NotBatched, Stacked
from feedline.fixes.means.rewrite.chain import consumers_of
from feedline.fixes.means.rewrite.flat import (
    CannotRewrite,
    Flat,
    as_function,
    flat,
    replay,
    wrapper_of,
)
from feedline.fixes.means.rewrite.total import can_fail
from feedline.job.private import tensorflow as tf_private
from feedline.job.tfdata import ops
from feedline.job.tfdata.ops import Fact
from feedline.job.tfdata.pipeline import Pipeline, Stage, TensorSpec

AUTOTUNE = -1


def vectorized(stage: Stage) -> Callable[..., Any]:
    """The function of the map `stage`, over a batch of its elements. It is tried on
    tensors without values first, so that a refusal comes now and not later."""
    import tensorflow as tf

    _check_stateless(stage)
    _check_specs(stage)
    one = flat(stage)
    function = _over_batches(one)
    batch = _batch_spec(one.input_structure)
    arguments = batch if type(batch) is tuple else (batch,)
    try:
        tf.function(function, autograph=False).get_concrete_function(*arguments)
    except NotBatched as error:
        raise CannotRewrite(stage, str(error)) from error
    except Exception as error:  # of TensorFlow's own, whatever it meets
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise CannotRewrite(stage, f"it does not run over a batch: {reason}") from error
    return function


def vectorize_pipeline(pipeline: Pipeline, stage: Stage) -> Pipeline:
    """`pipeline` with the map `stage`, and any maps between it and the next
    `batch`, behind that batch. The elements are those of before: nothing between
    the two looks at them, and the order of what passes does not change. Elements
    that `drop_remainder` drops are no longer mapped, so an error that only they
    would have raised is not raised."""
    path = pipeline.after(stage)
    until = next((n for n, one in enumerate(path) if one.op == ops.BATCH), None)
    if stage.op != ops.MAP or until is None:
        raise CannotRewrite(stage, "no batch comes after it")
    batch, between = path[until], path[:until]
    for one in between:
        # Not a cache: what stands behind it is computed in every epoch.
        if not one.has(Fact.LOOKS_AT_NONE) and one.op != ops.MAP:
            raise CannotRewrite(stage, f"{one.label()} comes before the batch")
    for one in (stage, *between):
        if consumers_of(pipeline, one) != 1:
            raise CannotRewrite(stage, f"{one.label()} feeds more than one stage")
    if any(one.op == ops.IGNORE_ERRORS for one in path):
        raise CannotRewrite(
            stage, "a later stage ignores errors, and a whole batch would fail as one"
        )
    if any(one.has(Fact.LEAVES_OUT) for one in between):
        fails = can_fail(flat(stage).ops)
        if fails:
            reason = f"it may fail on an element that is skipped ({', '.join(fails)})"
            raise CannotRewrite(stage, reason)
    upstream = stage.inputs[0]
    for one in between:
        if one.op != ops.MAP:
            upstream = replace(one, inputs=(upstream,), spec=upstream.spec)
    length = batch.spec[0].shape[0] if batch.spec and batch.spec[0].shape else None
    last = replace(batch, inputs=(upstream,), spec=_batched(upstream.spec, length))
    for one in (stage, *(one for one in between if one.op == ops.MAP)):
        last = _map_stage(one, vectorized(one), last, length)
    return pipeline.swap(batch, last)


def _over_batches(one: Flat) -> Callable[..., Any]:
    import tensorflow as tf

    def compute(batch: list[Any]) -> list[Any]:
        static = next((b.shape[0] for b in batch if b.shape.rank), None)
        answer = Batched(tf.shape(batch[0])[0] if static is None else static, static)
        fed = one.feeds([Stacked(part) for part in batch])
        found = replay(one.graph, fed, one.outputs, one.effects, convert=answer)
        return [
            answer.stacked(value, like)
            for value, like in zip(found, one.outputs, strict=True)
        ]

    return as_function(
        one.name,
        _batch_spec(one.input_structure),
        compute,
        _batch_spec(one.output_structure),
    )


def _batch_spec(structure: Any) -> Any:
    """Of a batch, whatever its size."""
    import tensorflow as tf

    return tf.nest.map_structure(lambda spec: tf_private.batch(spec)(None), structure)


def _map_stage(old: Stage, function: Any, upstream: Stage, length: int | None) -> Stage:
    # The job may have said that order does not matter, of a map that kept it.
    ordered = old.args.get("deterministic") is not False
    return Stage(
        ops.MAP,
        inputs=(upstream,),
        args={
            "func": function,
            "num_parallel_calls": AUTOTUNE,
            "deterministic": ordered,
        },
        functions=old.functions,
        spec=_batched(old.spec, length),
        where=old.where,
        number=old.number,
    )


def _batched(
    spec: tuple[TensorSpec, ...], length: int | None
) -> tuple[TensorSpec, ...]:
    return tuple(
        one if one.shape is None else TensorSpec(one.dtype, (length, *one.shape))
        for one in spec
    )


def _check_stateless(stage: Stage) -> None:
    wrapper_of(stage)
    for one in stage.functions:
        if one.python:
            raise CannotRewrite(stage, "it runs Python for every element")
        if one.random:
            raise CannotRewrite(stage, "it draws random numbers")
        if one.stateful or one.outside:
            raise CannotRewrite(stage, "it reads or holds state")


def _check_specs(stage: Stage) -> None:
    import tensorflow as tf

    wrapper = wrapper_of(stage)
    given = tf.nest.flatten(tf_private.input_structure(wrapper))
    if not any(isinstance(one, tf.TensorSpec) for one in given):
        raise CannotRewrite(stage, "its elements have no tensors")
    for spec in (*given, *tf.nest.flatten(wrapper.output_structure)):
        if type(spec) is not tf.TensorSpec and type(spec).__name__ != "NoneTensorSpec":
            raise CannotRewrite(
                stage, f"an element has a part that is not a plain tensor: {spec}"
            )
    for spec in given:
        if isinstance(spec, tf.TensorSpec) and not spec.shape.is_fully_defined():
            raise CannotRewrite(
                stage,
                f"its elements may have unequal shapes {spec.shape} and would not "
                "stack before it",
            )
