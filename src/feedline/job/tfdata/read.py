"""A `tf.data.Dataset` as a `Pipeline`: plain data that can be looked at, altered
and given to `rebuild.py`.

Reading runs nothing: no element is produced, no function of the user's called,
no seed drawn. An object that feedline does not know becomes an `opaque` stage
with the inputs it admits to.

Branches: the inputs of `choose_from_datasets`, and of `sample_from_datasets`
with a dataset of weights, are the datasets and then the one that chooses.
"""

from __future__ import annotations

import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import tensorflow as tf

from feedline.errors import FeedlineError
from feedline.job import marks
from feedline.job.private import tensorflow as tf_private
from feedline.job.tfdata import graph, ops
from feedline.job.tfdata.composites import recognise
from feedline.job.tfdata.functions import describe
from feedline.job.tfdata.generators import adapter_of, starts_anew, user_code
from feedline.job.tfdata.ops import INNER_KERNELS, OPAQUE, Fact
from feedline.job.tfdata.options import to_dict
from feedline.job.tfdata.pipeline import Function, Pipeline, Stage, TensorSpec
from feedline.job.tfdata.recognised import Found, unadapted

Node = TypeVar("Node")

_MOST_FILES_LOOKED_AT = 64


def read(dataset: Any) -> Pipeline:
    """`dataset` as plain data."""
    if not isinstance(dataset, tf.data.Dataset):
        raise FeedlineError(
            f"a tf.data.Dataset was expected, this is a {type(dataset).__name__}. "
            "Make one with tf.data.Dataset.from_generator or from_tensor_slices."
        )
    if tf.is_symbolic_tensor(tf_private.variant_tensor(dataset)):
        raise FeedlineError(
            "this tf.data.Dataset was made inside a tf.function and exists only "
            "there. Make it outside and pass it in."
        )
    with tf.init_scope():
        found: dict[int, Found] = {}

        def upstream(one: Any) -> tuple[Any, ...]:
            found[id(one)] = recognise(one)
            return found[id(one)].inputs

        stages: dict[int, Stage] = {}
        root = unadapted(dataset)
        for one in inputs_first(root, upstream):
            what = found[id(one)]
            stages[id(one)] = _stage(what, tuple(stages[id(i)] for i in what.inputs))
        return Pipeline(
            root=stages[id(root)],
            options=to_dict(dataset.options()),
            cardinality=int(dataset.cardinality()),
            handle=dataset,
        )


def inputs_first(
    root: Node, upstream: Callable[[Node], tuple[Node, ...]]
) -> list[Node]:
    """Every node that `root` needs, each once and after its inputs. Without
    recursion: a pipeline of a thousand `concatenate`s is nothing unheard of."""
    order: list[Node] = []
    waiting: list[tuple[Node, bool]] = [(root, False)]
    inputs: dict[int, tuple[Node, ...]] = {}
    while waiting:
        node, fed = waiting.pop()
        if fed:
            order.append(node)
        elif id(node) not in inputs:
            inputs[id(node)] = upstream(node)
            waiting.append((node, True))
            waiting.extend((one, False) for one in reversed(inputs[id(node)]))
    return order


def _stage(found: Found, inputs: tuple[Stage, ...]) -> Stage:
    functions = tuple(describe(traced, func) for traced, func in found.users)
    behind = user_code(found) if found.op == ops.FROM_GENERATOR else None
    if behind is not None:
        name, where = behind
        functions = tuple(replace(f, name=name, where=where) for f in functions)
    if found.op == ops.CHOOSE_FROM_DATASETS:
        inputs = (*inputs[:-1], _chooser(inputs[-1]))
    return Stage(
        op=found.op,
        inputs=inputs,
        args=found.args,
        functions=functions,
        spec=_specs(found.dataset.element_spec),
        where=getattr(found.dataset, marks.WHERE, None),
        random=_is_random(found) or any(f.random for f in functions),
        rereadable=_is_rereadable(found)
        and (found.op == ops.FROM_GENERATOR or not any(map(_generates, functions))),
        inner=_inner(found.op, functions),
        handle=found,
    )


def _is_random(found: Found) -> bool:
    if found.op == ops.SHUFFLE:
        return bool(found.args["buffer_size"] != 1)
    if ops.has(found.op, Fact.MAY_SHUFFLE):
        return bool(found.args["shuffle"])
    if found.op == ops.FROM_GENERATOR:  # Keras draws the order of a PyDataset's batches
        return bool(getattr(adapter_of(found), "shuffle", False))
    return ops.has(found.op, Fact.DRAWS)


def _generates(function: Function) -> bool:
    """Does it make a dataset of a generator, of which nothing is known here?"""
    return "GeneratorDataset" in function.ops


def _is_rereadable(found: Found) -> bool:
    """An unknown source may be anything; a known one may still read a pipe."""
    if found.op == OPAQUE:
        return bool(found.inputs)
    if found.op == ops.FROM_GENERATOR:
        return starts_anew(found)
    names = found.args.get("filenames") or found.args.get("file_pattern") or ()
    names = (names,) if isinstance(names, str) else names[:_MOST_FILES_LOOKED_AT]
    return not ops.has(found.op, Fact.READ_ONCE) and not any(
        _is_stream(name) for name in names
    )


def _chooser(stage: Stage) -> Stage:
    """TensorFlow strips the choosing dataset of its past; the graph still has it."""
    ops = graph.op_types(stage.handle.dataset)
    outside = ("PyFunc", "EagerPyFunc", "Generator", "DataService", "Iterator")
    return replace(
        stage,
        random=any(op.startswith(("Shuffle", "Random")) for op in ops),
        rereadable=bool(ops) and not any(op.startswith(outside) for op in ops),
    )


def _is_stream(name: str) -> bool:
    try:
        mode = Path(name).stat().st_mode
    except (OSError, ValueError):  # on another file system, or not there yet
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)


def _inner(op: str, functions: tuple[Function, ...]) -> Stage | None:
    if not ops.has(op, Fact.INNER):
        return None
    seen = {name for function in functions for name in function.ops}
    return next((Stage(op) for name, op in INNER_KERNELS.items() if name in seen), None)


def _specs(element_spec: Any) -> tuple[TensorSpec, ...]:
    return tuple(_spec(one) for one in tf.nest.flatten(element_spec))


def _spec(spec: Any) -> TensorSpec:
    """A ragged or sparse tensor by its dense shape; a dataset inside an element
    is a `variant`, of which nothing more can be said."""
    dtype, shape = getattr(spec, "dtype", None), getattr(spec, "shape", None)
    if dtype is None or shape is None:
        return TensorSpec("variant", None)
    return TensorSpec(
        dtype.name, None if shape.rank is None else tuple(shape.as_list())
    )
