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
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tensorflow.python.framework import op_def_registry

from feedline.job.pipeline import Function, Where
from feedline.job.source import is_library, line_of

_PYTHON = {"PyFunc", "EagerPyFunc", "PyFuncStateless"}
_RANDOM = re.compile(
    r"^(Random(Crop|Gamma|Poisson|PoissonV2|Shuffle|StandardNormal|Uniform|UniformInt)"
    r"|(Parameterized)?TruncatedNormal|Multinomial|NonDeterministicInts"
    r"|RngReadAndSkip|SampleDistortedBoundingBox(V2)?|\w*CandidateSampler"
    r"|Stateful(Uniform|StandardNormal|TruncatedNormal|RandomBinomial)\w*"
    r"|(Shuffle|ShuffleAndRepeat|Random|GlobalShuffle)Dataset(V\d)?)$"
)
_STATELESS_RANDOM = re.compile(
    r"^Stateless(Random(?!Get)|TruncatedNormal|ParameterizedTruncatedNormal"
    r"|Multinomial|Shuffle|SampleDistorted)"
)
_GENERATOR_STATE = {"ReadVariableOp", "AssignVariableOp", "AssignAddVariableOp"}

# TensorFlow marks these as stateful so that they are neither pruned nor moved;
# they hold nothing that would make a second call differ from the first.
_HARMLESS = re.compile(
    r"^(Stateful)?PartitionedCall$|^(If|While|Case|Assert|CheckNumerics(V2)?)$"
    r"|^(LookupTable(Find|Size|Export)(V2)?|HashTable(V2)?|AnonymousHashTable)$"
    r"|^(StatelessRandomGetAlg|Dummy\w+|Empty|GuaranteeConst|DeviceIndex"
    r"|VarHandleOp|VarIsInitializedOp|VariableShape)$|Dataset(V\d)?$"
)

_READS = {
    *("ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape"),
    *("LookupTableFindV2", "LookupTableSizeV2", "LookupTableExportV2"),
}


def describe(traced: Any, func: Any = None) -> Function:
    """`traced` is TensorFlow's wrapper; `func` the user's callable in it, where
    the wrapper holds something of TensorFlow's around it."""
    func = unwrapped(traced._func if func is None else func)
    ops = op_counts(traced)
    drawn = any(_RANDOM.match(op) for op in ops)
    generated = any(_STATELESS_RANDOM.match(op) for op in ops) and bool(
        _GENERATOR_STATE & ops.keys()
    )
    pure = not (_PYTHON & ops.keys()) or _is_pure(traced)
    seen = ops.keys() - _PYTHON if pure else ops.keys()
    return Function(
        name=name_of(func),
        where=where_of(func),
        ops=ops,
        random=drawn or generated,
        seeded=generated or (drawn and _has_seed(traced)),
        stateful=any(map(_is_stateful, seen)) or _captures_dataset(traced),
        python=bool(_PYTHON & ops.keys()),
        pure=pure,
        reads=bool(_READS & ops.keys()),
        outside=tuple(sorted(filter(_acts_outside, ops.keys() - _PYTHON - _READS))),
    )


def _is_pure(traced: Any) -> bool:
    """Is every Python function in the graph seen to keep no state?"""
    from tensorflow.python.ops import script_ops

    from feedline.job.workers.function import undecorated
    from feedline.job.workers.shape import purity

    for op in _operations(traced.function.graph):
        if op.type not in _PYTHON:
            continue
        registered = script_ops._py_funcs.get(op.get_attr("token").decode())
        inner = getattr(registered, "_func", registered)
        if inner is None or purity(unwrapped(undecorated(inner))).pure is not True:
            return False
    return True


def _has_seed(traced: Any) -> bool:
    """Is a seed set for anything that is drawn? Without one both are 0."""
    return any(
        _RANDOM.match(op.type)
        and any(_attribute(op, name) for name in ("seed", "seed2"))
        for op in _operations(getattr(traced.function, "graph", None))
    )


def _attribute(op: Any, name: str) -> Any:
    try:
        return op.get_attr(name)
    except ValueError:  # this op draws from a generator's state: that is a seed
        return "Seed" not in op.type


def op_counts(traced: Any) -> Counter[str]:
    """Operations by type, those of nested functions included, inputs left out."""
    graph = getattr(traced.function, "graph", None)
    counts = Counter(op.type for op in _operations(graph))
    del counts["Placeholder"]
    return counts


def _operations(graph: Any) -> Iterator[Any]:
    if graph is None:  # a function of TensorFlow 1's kind
        return
    yield from graph.get_operations()
    for nested in graph._functions.values():
        inner = getattr(nested, "cached_graph", None) or nested.graph
        yield from inner.get_operations()


def draws(graph: Any) -> bool:
    """Does it draw by operations whose numbers depend on how they are run, or call
    Python?"""
    return any(
        _RANDOM.match(op.type) or op.type in _PYTHON for op in _operations(graph)
    )


def _captures_dataset(traced: Any) -> bool:
    """A dataset from outside: what it does cannot be seen from here."""
    captured = getattr(traced.function, "captured_inputs", ())
    return any(tensor.dtype.name == "variant" for tensor in captured)


@functools.cache
def _acts_outside(op: str) -> bool:
    if op_def_registry.get(op) is None:
        return True
    return _is_stateful(op) and not _RANDOM.match(op)


@functools.cache
def _is_stateful(op: str) -> bool:
    definition = op_def_registry.get(op)
    if definition is None or _HARMLESS.search(op):
        return bool(_RANDOM.match(op))
    return bool(definition.is_stateful)


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
