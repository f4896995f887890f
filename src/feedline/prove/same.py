"""Are the elements the same? Two pipelines read side by side and compared.

Both are read through fresh copies, so that neither disturbs the job. What has no
seed gives another order each time, in the job itself too; such shuffles get the
same seed on both sides for the comparison. A map that draws without a seed cannot
be compared by value: then structure, shapes and dtypes are, and `values` is False.

Bit for bit: NaN equals NaN of the same bits, -0.0 does not equal 0.0.
"""

from __future__ import annotations

import hashlib
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import tensorflow as tf

from feedline.job.loops.snapshot import same_draws
from feedline.job.tfdata import ops
from feedline.job.tfdata.endings import unbounded
from feedline.job.tfdata.pipeline import Pipeline, Stage
from feedline.job.tfdata.rebuild import rebuild
from feedline.prove.proof import Same

_SEED = 20_260_117
Order = Literal["same", "any", "values may differ"]


def compare(
    before: Pipeline,
    after: Pipeline,
    *,
    order: Order = "same",
    seconds: float = 2.0,
    most: int = 512,
    epochs: int = 2,
) -> Same:
    """Read both for a while. `order` "any" compares an epoch as a bag of elements,
    which says nothing before the epoch has come to its end: then, and only then, are
    they called equal. What repeats for ever is compared for one pass."""
    values = order != "values may differ" and comparable(before)
    if order == "any":
        before, after, most = _once(before), _once(after), sys.maxsize
    first = rebuild(pinned(before), fresh=True)
    second = rebuild(pinned(after), fresh=True)
    if not _compatible(first.element_spec, second.element_spec):
        return Same(
            False,
            difference=f"elements are {second.element_spec}, not {first.element_spec}",
        )
    batched = before.find(ops.BATCH) != []
    until = time.perf_counter() + seconds
    seen = done = 0
    for epoch in range(epochs):
        bags: tuple[Counter[bytes], Counter[bytes]] = (Counter(), Counter())
        for a, b in _side_by_side(first, second):
            if a is _END and b is _END:
                done += 1
                break
            if isinstance(a, Failed) and isinstance(b, Failed):
                if a.kind != b.kind:
                    return Same(False, seen, done, values, f"{b.text}, not {a.text}")
                break
            if a is _END or b is _END or isinstance(a, Failed) or isinstance(b, Failed):
                what = f"epoch {epoch + 1} ends differently after {seen} elements"
                return Same(False, seen, done, values, what)
            if order == "any":
                for bag, each in zip(bags, (a, b), strict=True):
                    rows = _rows(each, batched=batched)
                    bag.update(digest(row, values=values) for row in rows)
            else:
                difference = differ(a, b, values=values)
                if difference:
                    where = f"element {seen} of epoch {epoch + 1}: {difference}"
                    return Same(False, seen, done, values, where)
            seen += 1
            if seen >= most or time.perf_counter() > until:
                if order == "any" and done == 0:
                    what = (
                        f"no epoch came to its end in {seen} elements, and before that "
                        "another order cannot be told from other elements"
                    )
                    return Same(False, seen, done, values, what)
                return Same(True, seen, done, values)
        if order == "any" and bags[0] != bags[1]:
            return Same(False, seen, done, values, "an epoch has other elements")
        if seen == 0:  # an empty pipeline stays empty
            break
    return Same(True, seen, done, values)


def _once(pipeline: Pipeline) -> Pipeline:
    """One pass over what would be repeated for ever."""
    while endless := unbounded(pipeline.root):
        args = {**endless[0].args, "count": 1}
        pipeline = pipeline.swap(endless[0], replace(endless[0], args=args))
    return pipeline


class _End:
    pass


_END = _End()


@dataclass(frozen=True)
class Failed:
    """The input raised: that, too, must be the same."""

    kind: type
    text: str


def _side_by_side(first: Any, second: Any) -> Iterator[tuple[Any, Any]]:
    """Their elements in pairs. What Python draws before the first one, as Keras does
    the order of a `PyDataset`'s batches, both draw alike. The second begins: it may
    start processes, which is best done while nothing else runs."""
    one, two = _read(first), _read(second)
    with same_draws():
        b = next(two, _END)
    a = next(one, _END)
    while True:
        yield a, b
        a, b = next(one, _END), next(two, _END)


def _read(dataset: Any) -> Iterator[Any]:
    try:
        yield from dataset
    except tf.errors.OpError as error:
        yield Failed(type(error), str(error.message)[:200])


def pinned(pipeline: Pipeline) -> Pipeline:
    """Every shuffle without a seed gets one, the same in every pipeline that has
    the same shuffles."""
    while free := [s for s in pipeline.find(ops.SHUFFLE) if _unseeded(s)]:
        stage = free[0]
        seed = _SEED + max(0, stage.number)
        pipeline = pipeline.swap(stage, stage.given(seed=seed))
    return pipeline


def _unseeded(stage: Stage) -> bool:
    if stage.args.get("seed") is not None:
        return False
    seeds = getattr(stage.handle, "seeds", ())
    return not any(int(part) for pair in seeds for part in pair)


def comparable(pipeline: Pipeline) -> bool:
    """Does a fresh copy give the same values each time, once shuffles are pinned?"""
    return all(_repeats(stage) for stage in pipeline.stages() if stage.random)


def _repeats(stage: Stage) -> bool:
    if stage.op == ops.SHUFFLE:
        return True
    if not stage.functions:
        return stage.args.get("seed") is not None
    inside = {op for function in stage.functions for op in function.ops}
    # A generator's state lies in a variable, which goes on from copy to copy.
    if inside & {"ReadVariableOp", "AssignVariableOp", "AssignAddVariableOp"}:
        return False
    return all(function.seeded for function in stage.functions if function.random)


def _compatible(one: Any, two: Any) -> bool:
    """The same structure and dtypes; a shape may have become better known or
    less, the elements themselves are compared."""
    try:
        tf.nest.assert_same_structure(one, two, expand_composites=True)
    except (TypeError, ValueError):
        return False
    pairs = zip(tf.nest.flatten(one), tf.nest.flatten(two), strict=True)
    return all(
        type(a) is type(b) and getattr(a, "dtype", None) == getattr(b, "dtype", None)
        for a, b in pairs
    )


def differ(one: Any, two: Any, *, values: bool = True) -> str:
    """In what two elements differ, "" where in nothing."""
    try:
        tf.nest.assert_same_structure(one, two, expand_composites=True)
    except (TypeError, ValueError):
        return "another structure"
    flat = tf.nest.flatten(one, expand_composites=True)
    for a, b in zip(flat, tf.nest.flatten(two, expand_composites=True), strict=True):
        if a.dtype != b.dtype:
            return f"dtype {b.dtype.name}, not {a.dtype.name}"
        if values and a.shape != b.shape:
            return f"shape {b.shape}, not {a.shape}"
        if a.shape.rank != b.shape.rank:
            return f"rank {b.shape.rank}, not {a.shape.rank}"
        if a.dtype == tf.variant or not values:
            continue
        if not _same_bits(_array(a), _array(b)):
            return f"other values in a {a.dtype.name} tensor of shape {a.shape}"
    return ""


def _array(tensor: Any) -> Any:
    """By way of `numpy()`: a scalar of bfloat16 has no other. Text stays objects,
    or NumPy would drop zeros at its end."""
    return np.asarray(
        tensor.numpy(), dtype=object if tensor.dtype == tf.string else None
    )


def _same_bits(one: Any, two: Any) -> bool:
    if one.dtype == object:
        return bool((one == two).all()) if one.shape else bool(one == two)
    one, two = np.ascontiguousarray(one), np.ascontiguousarray(two)
    return bool(one.tobytes() == two.tobytes())


def _rows(element: Any, *, batched: bool) -> list[Any]:
    """In another order a batch holds other elements: they are told one by one."""
    parts = tf.nest.flatten(element)
    plain = all(isinstance(part, tf.Tensor) and part.shape.rank for part in parts)
    if not batched or not plain or len({part.shape[0] for part in parts}) != 1:
        return [element]
    return list(zip(*(tf.unstack(part) for part in parts), strict=True))


def digest(element: Any, *, values: bool = True) -> bytes:
    """Of an element's dtypes and shapes, and of its values where they count."""
    total = hashlib.blake2b(digest_size=16)
    for part in tf.nest.flatten(element, expand_composites=True):
        if part.dtype == tf.variant:
            continue
        array = _array(part)
        total.update(f"{part.dtype.name}{array.shape}".encode())
        if not values:
            continue
        if array.dtype == object:
            for text in array.ravel():
                total.update(len(text).to_bytes(8, "little") + text)
        else:
            total.update(np.ascontiguousarray(array).tobytes())
    return total.digest()
