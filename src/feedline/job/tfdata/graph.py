"""What only TensorFlow's runtime remembers of a dataset object.

A few arguments are handed to the op and kept nowhere in Python
(`interleave(deterministic=)`, `ignore_errors(log_warning=)`). The serialised
graph has them. Serialising copies the tensors of the source, so it is done only
where little would be copied; it runs nothing.
"""

from __future__ import annotations

import logging
from typing import Any

import tensorflow as tf

from feedline.job.private import tensorflow as tf_private

_LIMIT_BYTES = 16 * 2**20
_IGNORE_STATE = 1  # tf.data.experimental.ExternalStatePolicy.IGNORE
_log = logging.getLogger(__name__)


def attributes(dataset: Any) -> dict[str, Any]:
    """The attributes of the last op of `dataset`; empty where not known."""
    nodes = _nodes(dataset)
    return (
        {name: _value(attr) for name, attr in nodes[-1].attr.items()} if nodes else {}
    )


def op_types(dataset: Any) -> list[str]:
    """The ops that a dataset of unknown making consists of, the source first,
    those of its functions included."""
    return [node.op for node in _nodes(dataset, functions=True)]


def enumerates_from(dataset: Any) -> int | None:
    """Where `dataset` starts to count, if it is the counter of `enumerate`."""
    nodes = _nodes(dataset)
    if not nodes or nodes[-1].op != "RangeDataset" or len(nodes) != 4:
        return None
    start, stop, step = (
        int(tf.make_ndarray(node.attr["value"].tensor)) for node in nodes[:3]
    )
    return start if stop == tf.int64.max and step == 1 else None


def _nodes(dataset: Any, *, functions: bool = False) -> list[Any]:
    """The nodes of the graph, the dataset's own last; none where it is too large
    or cannot be serialised."""
    if _bytes(dataset) > _LIMIT_BYTES:
        return []
    try:
        serialized = tf.raw_ops.DatasetToGraphV2(
            input_dataset=tf_private.variant_tensor(dataset),
            external_state_policy=_IGNORE_STATE,
            strip_device_assignment=True,
        )
        graph = tf.compat.v1.GraphDef.FromString(serialized.numpy())
    except (tf.errors.OpError, AttributeError) as error:
        _log.debug("cannot serialise %r: %s", dataset, error)
        return []
    nodes = {node.name: node for node in graph.node}
    (result,) = (node for node in graph.node if node.op == "_Retval")
    last = nodes.pop(result.input[0].split(":")[0])
    inner = [n for f in graph.library.function for n in f.node_def] if functions else []
    rest = [node for node in nodes.values() if node.op != "_Retval"]
    return [*inner, *rest, last]


def _value(attr: Any) -> Any:
    kind = attr.WhichOneof("value")
    value = getattr(attr, kind) if kind in ("s", "i", "f", "b") else None
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _bytes(dataset: Any) -> float:
    """About how much serialising `dataset` would copy."""
    total, waiting, seen = 0.0, [dataset], set[int]()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        waiting.extend(tf_private.inputs(one)())
        total += sum(map(_tensor_bytes, tf_private.tensors.get(one, ())))
        for traced in tf_private.functions(one)():
            function = getattr(traced, "function", None)
            total += sum(map(_tensor_bytes, getattr(function, "captured_inputs", ())))
            total += _constant_bytes(getattr(function, "graph", None))
    return total


def _constant_bytes(func_graph: Any) -> float:
    ops = func_graph.get_operations() if func_graph is not None else ()
    return sum(_tensor_bytes(op.outputs[0]) for op in ops if op.type == "Const")


def _tensor_bytes(tensor: Any) -> float:
    if tensor.dtype == tf.variant:  # a captured dataset: of any size
        return float("inf")
    count = tensor.shape.num_elements() or 0
    return float(count * (64 if tensor.dtype == tf.string else tensor.dtype.size))
