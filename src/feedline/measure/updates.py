"""What looking up and updating the parameters costs, by experiment on copies.

A copy of the optimizer updates copies of the variables, filled with zeros; the
job's own are not touched. The same update on variables of one row tells what
calling it costs; the rest is computing that grows with the parameters and not
with the batch. For a table whose gradient names a few rows, the same update on
a table of just those rows tells what it should cost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from feedline.job.loops.loop import Clock
from feedline.job.script.updates import Update
from feedline.job.tfdata.pipeline import Where
from feedline.measure.measurement import TableCost
from feedline.measure.timing import compare

_SMALL_PARAMETERS = 500_000
_SMALL_TABLE = 5_000


@dataclass(frozen=True)
class UpdateCost:
    """`fixed` is the ms of an update that do not depend on the batch."""

    fixed: float
    tables: tuple[TableCost, ...] = ()


def measure_update(
    update: Update,
    *,
    ids_per_step: int,
    touched: int,
    clock: Clock,
    seconds: float,
    free_bytes: float,
    where_of: Callable[[Any], Where | None] = lambda _: None,
    is_layer: Callable[[Any], bool] = lambda _: True,
) -> UpdateCost | None:
    """None where it was not worth it or would not fit into memory."""
    variables = update.variables()
    shapes = [tuple(int(n) for n in variable.shape) for variable in variables]
    parameters = sum(_product(shape) for shape in shapes)
    if parameters < _SMALL_PARAMETERS:
        return UpdateCost(0.0)
    if parameters * 4 * 4 > free_bytes / 2:
        return None
    ids = {position: rows or ids_per_step for position, rows in update.sparse.items()}
    looked_up = {position for position in ids if is_layer(variables[position])}
    calls = {
        "all": _apply(update.optimizer, shapes, ids, looked_up),
        "tiny": _apply(
            update.optimizer,
            [(1, *shape[1:]) if len(shape) > 1 else shape[:1] for shape in shapes],
            dict.fromkeys(ids, 1),
            looked_up,
        ),
    }
    tables = {
        position: shapes[position]
        for position in ids
        if len(shapes[position]) == 2 and shapes[position][0] >= _SMALL_TABLE
    }
    for position, (rows, dim) in tables.items():
        some = max(1, min(touched, ids[position], rows))
        alone = {0} if position in looked_up else set()
        calls[f"table {position}"] = _apply(
            update.optimizer, [(rows, dim)], {0: ids[position]}, alone
        )
        calls[f"rows {position}"] = _apply(
            update.optimizer, [(some, dim)], {0: ids[position]}, alone
        )
    times = compare(calls, clock, seconds=seconds)
    found = tuple(
        TableCost(
            name=str(getattr(variables[position], "path", f"table {position}")),
            rows=rows,
            dim=dim,
            touched=max(1, min(touched, ids[position], rows)),
            optimizer=update.kind,
            update=times[f"table {position}"].value,
            update_touched_only=times[f"rows {position}"].value,
            where=where_of(variables[position]),
        )
        for position, (rows, dim) in tables.items()
    )
    fixed = max(0.0, times["all"].value - times["tiny"].value)
    return UpdateCost(fixed, found)


def _apply(
    optimizer: Any,
    shapes: list[tuple[int, ...]],
    ids: dict[int, int],
    looked_up: set[int],
) -> Callable[[], object]:
    """An update of fresh zeros of these shapes; `ids` says which of them get a
    gradient of that many rows, `looked_up` which are read by a Keras layer.

    The look-up is part of it. Keras' `Embedding` takes its rows out of the whole
    table, and TensorFlow hands out a copy of the whole table once a variable has
    been written to by rows. So even plain SGD, which writes only the touched rows,
    costs what the vocabulary costs, in the next step's look-up.
    """
    import keras
    import tensorflow as tf

    copy = type(optimizer).from_config(optimizer.get_config())
    variables = [
        keras.Variable(tf.zeros(shape), dtype="float32", name=f"feedline_{index}")
        for index, shape in enumerate(shapes)
    ]
    copy.build(variables)
    gradients: list[Any] = []
    for index, shape in enumerate(shapes):
        if index not in ids:
            gradients.append(tf.zeros(shape))
            continue
        rows = tf.cast(
            tf.math.floormod(tf.range(ids[index], dtype=tf.int64) * 7919, shape[0]),
            tf.int32,
        )
        gradients.append((tf.zeros((ids[index], *shape[1:])), rows, shape))

    @tf.function
    def apply() -> Any:
        grads = [
            tf.IndexedSlices(grad[0], grad[1], tf.constant(grad[2], tf.int32))
            if isinstance(grad, tuple)
            else grad
            for grad in gradients
        ]
        taken = [
            tf.reduce_sum(keras.ops.take(variables[index], gradients[index][1], axis=0))
            for index in looked_up
        ]
        with tf.control_dependencies(taken):
            copy.apply(grads, variables)
        return taken, copy.iterations.value

    def call() -> object:
        return apply()

    return call


def _product(shape: tuple[int, ...]) -> int:
    result = 1
    for length in shape:
        result *= length
    return result
