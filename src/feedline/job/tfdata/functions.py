"""A user's function inside a stage: its name, its line, what its graph holds.

Only what tracing left behind is looked at; the function is never called.

A function counts as random when it draws by a stateful random op, or by a
stateless one in a graph that also reads or advances a generator's state (a
Keras `SeedGenerator`, a `tf.random.Generator`). A stateless op whose seed comes
with the element is not random: the same element gives the same draw. What a
Python function inside the graph does cannot be seen; `Function.python` says
that there is one.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Iterable
from typing import Any

from feedline.job.private import tensorflow as tf_private
from feedline.job.source.lines import is_library, line_of
from feedline.job.tfdata.effects import (
    PYTHON,
    Effect,
    effect_of,
    is_draw,
    op_counts,
    operations,
)
from feedline.job.tfdata.pipeline import Function, Where

_STATELESS_RANDOM = re.compile(
    r"^Stateless(Random(?!Get)|TruncatedNormal|ParameterizedTruncatedNormal"
    r"|Multinomial|Shuffle|SampleDistorted)"
)
_GENERATOR_STATE = {"ReadVariableOp", "AssignVariableOp", "AssignAddVariableOp"}


def describe(traced: Any, func: Any = None) -> Function:
    """`traced` is TensorFlow's wrapper; `func` the user's callable in it, where
    the wrapper holds something of TensorFlow's around it."""
    func = unwrapped(tf_private.func(traced) if func is None else func)
    ops = op_counts(getattr(traced.function, "graph", None))
    drawn = any(map(is_draw, ops))
    generated = any(_STATELESS_RANDOM.match(op) for op in ops) and bool(
        _GENERATOR_STATE & ops.keys()
    )
    random = drawn or generated
    python = bool(PYTHON & ops.keys())
    pure = not python or _is_pure(traced)
    return Function(
        name=name_of(func),
        where=where_of(func),
        ops=ops,
        random=random,
        seeded=generated or (drawn and _has_seed(traced)),
        stateful=any(_is_stateful(op, pure) for op in ops) or _captures_dataset(traced),
        python=python,
        pure=pure,
        reads=_reads_what_may_change(traced, ops),
        outside=tuple(sorted(op for op in ops if _is_seen(op, random))),
    )


def _is_seen(op: str, random: bool) -> bool:
    """Would others see it done once more or once less? A generator's own state is
    what `random` stands for."""
    effect = effect_of(op)
    return effect is Effect.OUTSIDE or (
        effect is Effect.WRITES and not is_draw(op) and not random
    )


def _is_stateful(op: str, pure: bool) -> bool:
    """Does a second call depend on the first? Tables count as fixed here."""
    effect = effect_of(op)
    if effect is Effect.PYTHON:
        return op in PYTHON and not pure
    if effect is Effect.READS:
        return not op.startswith("LookupTable")
    return effect in (Effect.DRAWS, Effect.WRITES, Effect.ITERATES, Effect.OUTSIDE)


def _reads_what_may_change(traced: Any, ops: Iterable[str]) -> bool:
    """A table that was filled once and for all does not."""
    from feedline.job.tfdata.tables import holds_only_fixed

    reading = [op for op in ops if effect_of(op) is Effect.READS]
    if not reading or any(not op.startswith("LookupTable") for op in reading):
        return bool(reading)
    return not holds_only_fixed(traced)


def _is_pure(traced: Any) -> bool:
    """Is every Python function in the graph seen to keep no state?"""
    from feedline.job.private.tensorflow import script_ops
    from feedline.job.source.purity import purity

    for op in operations(traced.function.graph):
        if op.type not in PYTHON:
            continue
        registered = script_ops._py_funcs.get(op.get_attr("token").decode())
        inner = tf_private.func.get(registered, registered)
        if inner is None or purity(inner).pure is not True:
            return False
    return True


def _has_seed(traced: Any) -> bool:
    """Is a seed set for anything that is drawn? Without one both are 0."""
    return any(
        is_draw(op.type) and any(_attribute(op, name) for name in ("seed", "seed2"))
        for op in operations(getattr(traced.function, "graph", None))
    )


def _attribute(op: Any, name: str) -> Any:
    try:
        return op.get_attr(name)
    except ValueError:  # this op draws from a generator's state: that is a seed
        return "Seed" not in op.type


def draws(graph: Any) -> bool:
    """Does it draw by operations whose numbers depend on how they are run, or call
    Python?"""
    return any(is_draw(op.type) or op.type in PYTHON for op in operations(graph))


def _captures_dataset(traced: Any) -> bool:
    """A dataset from outside: what it does cannot be seen from here."""
    captured = getattr(traced.function, "captured_inputs", ())
    return any(tensor.dtype.name == "variant" for tensor in captured)


def unwrapped(func: Any) -> Any:
    """Through partials, decorators and `tf.function` to what the user wrote."""
    while True:
        if isinstance(func, functools.partial):
            func = func.func
        elif inspect.getattr_static(func, "python_function", None) is not None:
            func = func.python_function
        elif hasattr(func, "__wrapped__"):
            func = func.__wrapped__
        else:
            return func


def closure(func: Any) -> dict[str, Any]:
    """The variables that a function has taken along, by name."""
    if not inspect.isfunction(func):
        return {}
    cells = zip(func.__code__.co_freevars, func.__closure__ or (), strict=True)
    return {name: cell.cell_contents for name, cell in cells if _is_bound(cell)}


def _is_bound(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:  # a variable that is assigned later
        return False


def name_of(func: Any) -> str:
    name = getattr(func, "__name__", None) or type(func).__name__
    return "lambda" if name == "<lambda>" else str(name)


def where_of(func: Any) -> Where | None:
    """Its first line, None where it is a library's and not the user's."""
    if not hasattr(func, "__code__"):
        func = getattr(type(func), "call", None) or type(func).__call__
    code = getattr(func, "__code__", None)
    if code is None or is_library(code.co_filename):
        return None
    return line_of(code.co_filename, code.co_firstlineno)
