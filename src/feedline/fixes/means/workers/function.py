"""`map` with Python in it (`tf.numpy_function`, `tf.py_function`), in processes.

The traced function stays what it is, TensorFlow's ops around the Python included:
its graph is taken into the new one with other names for the Python functions in
it. Behind a name stands either the user's function, as before, or here one that
asks a pool for the result. What it gives back is converted by TensorFlow's own
code in the job's process, as before. The user's code is not traced again.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from feedline.files.cores import cores
from feedline.fixes.means.errors import Refused
from feedline.fixes.means.workers.pool import PATIENCE_S, Pool
from feedline.job import marks
from feedline.job.private import tensorflow as tf_private
from feedline.job.private.tensorflow import context, script_ops, structure
from feedline.job.private.tensorflow import framework_ops as ops
from feedline.job.source.purity import Purity, purity
from feedline.job.source.users import without_tensorflow
from feedline.job.source.uses import bound_to_here, tensorflow_in
from feedline.job.tfdata import ops as tfdata_ops
from feedline.job.tfdata.pipeline import Stage
from feedline.job.tfdata.recognised import Found

_PLAIN = ("PyFunc", "PyFuncStateless")
_EAGER = "EagerPyFunc"


@dataclass
class PythonMap:
    """`func` for `Dataset.map` with `num_parallel_calls=calls` and
    `deterministic=True`. Close it when the dataset is no longer read."""

    func: Callable[..., Any]
    calls: int
    purity: Purity
    pools: list[Pool] = field(repr=False)

    @property
    def broken(self) -> str | None:
        """Why the job computes alone again, None while the workers are used."""
        return next((pool.broken for pool in self.pools if pool.broken), None)

    def close(self) -> None:
        _close(self.pools)


def parallel_python_map(
    stage: Stage, workers: int = 0, *, patience: float = PATIENCE_S
) -> PythonMap:
    """The function of a `map` stage with its Python in `workers` processes, one
    per core unless told. Raises Refused where that cannot be the same."""
    found = stage.handle
    if (
        stage.op != tfdata_ops.MAP
        or not isinstance(found, Found)
        or len(found.traced) != 1
    ):
        raise Refused(f"{stage.label()} is not a map that was read from a dataset")
    traced = found.traced[0]
    proto = _graph_of(traced)
    users = {token: _registered(token, op) for token, op in _tokens(proto).items()}
    if not users:
        raise Refused(f"{stage.label()} has no Python function in it")
    for user in users.values():
        _check(user.function)
    workers = workers or cores()
    pools: list[Pool] = []
    try:
        for user in users.values():
            pools.append(Pool(user.in_worker, workers, patience=patience))
    except BaseException:
        _close(pools)
        raise
    pairs = zip(users.items(), pools, strict=True)
    behind = {token: user.asking(pool) for (token, user), pool in pairs}
    return PythonMap(
        _importing(traced, proto, behind, pools),
        calls=2 * workers,
        purity=_together([purity(user.function) for user in users.values()]),
        pools=pools,
    )


class _User:
    """A Python function of the graph: how it is called here and in a worker."""

    def __init__(self, registered: Any, eager: bool) -> None:
        self.registered = registered
        self.eager = eager
        # As TensorFlow calls it: with AutoGraph turned off, if only for code that
        # AutoGraph has translated together with the function around it.
        self._call = tf_private.func(registered) if eager else registered
        self.function = without_tensorflow(self._call)

    def in_worker(self, *arrays: Any) -> Any:
        if self.eager:
            return self._call(*(Standin(*array) for array in arrays))
        return self._call(*arrays)

    def asking(self, pool: Pool) -> Any:
        """What is registered in its place."""
        call = self._call
        if not self.eager:
            return lambda *args: pool.call(args, lambda: call(*args))

        def ask(*tensors: Any) -> Any:
            arrays = tuple(
                (tensor.numpy(), tensor.dtype.name, tensor.shape.as_list())
                for tensor in tensors
            )
            return pool.call(arrays, lambda: call(*tensors))

        return script_ops.EagerFunc(ask, tf_private.out_dtypes(self.registered), False)


class Standin:
    """An eager tensor in a worker: it can say its shape and give its array. All
    else would be TensorFlow's arithmetic, which is not NumPy's; it raises, and
    the job computes the element itself."""

    def __init__(self, array: Any, dtype: str, shape: list[int]) -> None:
        self._array = array
        self._dtype = dtype
        self._shape = shape

    def numpy(self) -> Any:
        return self._array

    @property
    def shape(self) -> Any:
        return tf.TensorShape(self._shape)

    @property
    def dtype(self) -> Any:
        return tf.as_dtype(self._dtype)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        import numpy as np

        return np.asarray(self._array).__array__(*args, **kwargs)

    # NumPy would otherwise take operators over, by `__array__`.
    __array_ufunc__ = None


def _graph_of(traced: Any) -> Any:
    graph = getattr(traced.function, "graph", None)
    if graph is None:
        raise Refused("a function of TensorFlow 1's kind")
    return graph.as_graph_def(add_shapes=True)


def _nodes(proto: Any) -> list[Any]:
    inner = [node for one in proto.library.function for node in one.node_def]
    return [*proto.node, *inner]


def _tokens(proto: Any) -> dict[str, str]:
    return {
        node.attr["token"].s.decode(): node.op
        for node in _nodes(proto)
        if node.op in (*_PLAIN, _EAGER)
    }


def _registered(token: str, op: str) -> _User:
    registered = script_ops._py_funcs.get(token)
    if registered is None:
        raise Refused(f"the Python function {token} of the stage is not there")
    eager = isinstance(registered, script_ops.EagerFunc)
    if eager != (op == _EAGER):
        raise Refused(f"the Python function {token} is registered as another kind")
    return _User(registered, eager)


def _check(function: Any) -> None:
    name = getattr(function, "__qualname__", type(function).__name__)
    module = str(getattr(function, "__module__", ""))
    if module.startswith("tensorflow.") or (used := tensorflow_in(function)):
        what = "is TensorFlow's own" if module.startswith("tensorflow.") else used
        raise Refused(
            f"the Python function {name} cannot run in a worker process, where "
            f"TensorFlow is not at hand: {what}"
        )
    if held := bound_to_here(function):
        raise Refused(f"the Python function {name} cannot be shared: {held}")


def _together(hints: list[Purity]) -> Purity:
    reasons = tuple(reason for hint in hints for reason in hint.reasons)
    values = [hint.pure for hint in hints]
    pure = False if False in values else None if None in values else True
    return Purity(pure, reasons)


def _importing(
    traced: Any, proto: Any, behind: dict[str, Any], pools: list[Pool]
) -> Callable[..., Any]:
    """A function that brings the graph in, with others behind its tokens."""
    graph, function = traced.function.graph, traced.function
    renamed = type(proto)()
    renamed.CopyFrom(proto)
    tokens = {old: script_ops._py_funcs.insert(new) for old, new in behind.items()}
    for node in _nodes(renamed):
        if node.op in (*_PLAIN, _EAGER):
            node.attr["token"].s = tokens[node.attr["token"].s.decode()].encode()
    _rename_library(renamed, f"_feedline_{'_'.join(sorted(tokens.values()))}")
    with tf.init_scope():  # a graph that brings functions in keeps them for itself
        for one in renamed.library.function:
            context.context().add_function_def(one)
    inputs = [tensor.name for tensor in graph.inputs]
    outputs = [tensor.name for tensor in graph.outputs]
    specs = structure.get_flat_tensor_specs(traced.output_structure)
    in_spec = tf_private.input_structure(traced)

    def mapped(*given: Any) -> Any:
        element = given if type(in_spec) is tuple else given[0]
        flat = structure.to_tensor_list(in_spec, element)
        here = ops.get_default_graph()
        flat += [here.capture(tensor) for tensor in function.captured_inputs]
        results = tf.graph_util.import_graph_def(
            renamed,
            input_map=dict(zip(inputs, flat, strict=True)),
            return_elements=outputs,
            name="",
        )
        for result, spec in zip(results, specs, strict=True):
            result.set_shape(spec.shape)
        return structure.from_compatible_tensor_list(traced.output_structure, results)

    # The registry holds these only weakly; they live as long as the function.
    keeping: Any = tf.autograph.experimental.do_not_convert(mapped)
    setattr(keeping, marks.KEEPS, behind)
    kept: Callable[..., Any] = keeping
    weakref.finalize(kept, _close, pools)
    return kept


def _close(pools: list[Pool]) -> None:
    for pool in pools:
        pool.close()


def _rename_library(proto: Any, suffix: str) -> None:
    names = {one.signature.name for one in proto.library.function}
    for one in proto.library.function:
        one.signature.name += suffix
    for gradient in proto.library.gradient:
        gradient.function_name += suffix
        gradient.gradient_func += suffix
    for node in _nodes(proto):
        for attr in node.attr.values():
            called = [attr.func] if attr.HasField("func") else list(attr.list.func)
            for func in called:
                if func.name in names:
                    func.name += suffix
