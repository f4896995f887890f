"""A traced function: its graph with all attributes and seeds, the Python that it calls
back, and what it has captured.

Unlike the store's keys this never refuses: a variable or a table that was captured is
told by its kind. What cannot be told at all is `Untold`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from feedline.fixes.identity.code import Teller, Untold
from feedline.fixes.identity.part import digest
from feedline.fixes.identity.values import tensor
from feedline.fixes.means.store.graphs import Unknown, _Body
from feedline.job.private import tensorflow as tf_private

_PYTHON = ("PyFunc", "EagerPyFunc", "PyFuncStateless")


def graph_of(traced: Any) -> str:
    """Of TensorFlow's wrapper around a user's function."""
    function = traced.function
    graph = getattr(function, "graph", None)
    if graph is None or not hasattr(graph, "as_graph_def"):
        raise Untold("a function of TensorFlow 1's kind")
    try:
        proto = graph.as_graph_def()
        for node in _nodes(proto):
            if node.op in _PYTHON:
                node.attr["token"].s = _called_back(node).encode()
        library = {one.signature.name: one for one in proto.library.function}
        places = {tensor.op.name: place for place, tensor in enumerate(graph.inputs)}
        outputs = [f"{out.op.name}:{out.value_index}" for out in graph.outputs]
        controls = [op.name for op in graph.control_outputs]
        body = _Body(proto.node, places, library, {}).digest(outputs, controls)
    except (Unknown, ValueError) as reason:  # ValueError: more than a proto may hold
        raise Untold(str(reason)) from None
    captured = [tensor(each) for each in function.captured_inputs]
    return digest((body.hex(), captured, repr(traced.output_structure)))


def seeds_in(traced: Any) -> list[tuple[str, int, int]]:
    """Of all operations that draw by a seed of their own, as TensorFlow holds them:
    one that comes from the global seed is there too."""
    graph = getattr(traced.function, "graph", None)
    if graph is None:
        return []
    return [
        (node.op, node.attr["seed"].i, node.attr["seed2"].i)
        for node in _nodes(graph.as_graph_def())
        if "seed" in node.attr and "seed2" in node.attr
    ]


def _nodes(proto: Any) -> Iterator[Any]:
    yield from proto.node
    # Named by a counter, so in the order of what they hold.
    for one in sorted(proto.library.function, key=lambda f: [n.op for n in f.node_def]):
        yield from one.node_def


def _called_back(node: Any) -> str:
    """The Python function behind this node, in place of its number."""
    from feedline.job.private.tensorflow import script_ops

    registered = script_ops._py_funcs.get(node.attr["token"].s.decode())
    return digest(Teller().tell(tf_private.func.get(registered, registered)))
