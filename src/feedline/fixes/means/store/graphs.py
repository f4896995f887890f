"""A traced function by its content: two functions with the same digest compute
the same, in this run and in the next.

Names carry counters, so they are left out: a node is what it does, its
attributes and what its inputs are, down to the arguments (a Merkle tree). The
order in which nodes were made does not count either.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

_BLOCK = 16 * 2**20
# Attributes that name things, or place them, and change no value.
_NAMES = {"shared_name", "container", "config_proto", "executor_type", "metadata"}


class Unknown(Exception):
    """What the elements depend on cannot be told; the message says on what."""


def digest(*parts: object) -> bytes:
    """Of bytes, and of anything whose `repr` says what it is."""
    made = hashlib.blake2b(digest_size=20)
    for part in parts:
        data = part if isinstance(part, bytes) else repr(part).encode()
        made.update(b"%d:" % len(data))
        made.update(data)
    return made.digest()


def tensor_digest(tensor: Any) -> bytes:
    """Of all its values, of whatever size."""
    if tensor.dtype in (tf.resource, tf.variant):
        raise Unknown(f"a captured {tensor.dtype.name}: a variable, a table, a dataset")
    made = hashlib.blake2b(digest_size=20)
    made.update(f"{tensor.dtype.name} {tuple(tensor.shape)}".encode())
    array = np.asarray(tensor.numpy() if hasattr(tensor, "numpy") else tensor)
    if array.dtype == object:
        for one in array.flat:
            made.update(b"%d:" % len(one))
            made.update(one)
    else:
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        for start in range(0, len(flat), _BLOCK):
            made.update(flat[start : start + _BLOCK].data)
    return made.digest()


def nodes_of(traced: Any) -> Iterator[Any]:
    """The nodes of a traced function and of all that it calls."""
    graph = getattr(traced.function, "graph", None)
    if graph is None or not hasattr(graph, "as_graph_def"):
        raise Unknown("a function of TensorFlow 1's kind")
    proto = graph.as_graph_def()
    yield from proto.node
    for function in proto.library.function:
        yield from function.node_def


def function_digest(traced: Any) -> bytes:
    """Of TensorFlow's wrapper of a traced function, and of what it captured."""
    function = traced.function
    graph = getattr(function, "graph", None)
    if graph is None or not hasattr(graph, "as_graph_def"):
        raise Unknown("a function of TensorFlow 1's kind")
    proto = graph.as_graph_def()
    library = {one.signature.name: one for one in proto.library.function}
    places = {tensor.op.name: place for place, tensor in enumerate(graph.inputs)}
    outputs = [f"{out.op.name}:{out.value_index}" for out in graph.outputs]
    controls = [op.name for op in graph.control_outputs]
    body = _Body(proto.node, places, library, {}).digest(outputs, controls)
    captured = [tensor_digest(tensor) for tensor in function.captured_inputs]
    return digest(body, *captured, repr(traced.output_structure))


class _Body:
    """The nodes of one function."""

    def __init__(
        self,
        nodes: Iterable[Any],
        arguments: Mapping[str, int],
        library: Mapping[str, Any],
        known: dict[str, bytes],
    ) -> None:
        self._nodes = {node.name: node for node in nodes}
        self._arguments = arguments
        self._library = library
        self._known = known
        self._done: dict[str, bytes] = {}

    def digest(self, outputs: Iterable[str], controls: Iterable[str]) -> bytes:
        for name in self._nodes:
            self._visit(name)
        lasting = sorted(self._done[name] for name in controls if name in self._done)
        return digest(*(self._input(one) for one in outputs), b"|", *lasting)

    def _visit(self, name: str) -> None:
        """Without recursion: a graph may be thousands of nodes deep."""
        waiting, begun = [name], set[str]()
        while waiting:
            at = waiting[-1]
            if at in self._done or at in self._arguments:
                waiting.pop()
                continue
            needed = [
                base
                for one in self._nodes[at].input
                if (base := _base(one)) not in self._done
                and base not in self._arguments
            ]
            if needed:
                if at in begun:
                    raise Unknown("a graph with a loop in it")
                begun.add(at)
                waiting += needed
                continue
            self._done[at] = self._node(self._nodes[at])
            waiting.pop()

    def _node(self, node: Any) -> bytes:
        data = [self._input(one) for one in node.input if one[0] != "^"]
        control = sorted(
            self._done[_base(one)]
            for one in node.input
            if one[0] == "^" and _base(one) in self._done
        )
        attributes = [
            (name, self._attribute(node.attr[name]))
            for name in sorted(node.attr)
            if name[0] != "_" and name not in _NAMES
        ]
        return digest(node.op, *data, b"^", *control, attributes)

    def _input(self, text: str) -> bytes:
        """`name`, `name:1`, or in a library function `name:output:0`."""
        name, _, port = text.partition(":")
        if name in self._arguments:
            return digest("argument", self._arguments[name])
        return digest(self._done[name], re.sub(r"^$", "0", port))

    def _attribute(self, attr: Any) -> bytes:
        kind = attr.WhichOneof("value")
        if kind == "func":
            return self._function(attr.func)
        if kind == "list" and attr.list.func:
            return digest(*(self._function(one) for one in attr.list.func))
        return bytes(attr.SerializeToString(deterministic=True))

    def _function(self, called: Any) -> bytes:
        name = called.name
        if name not in self._known:
            if name not in self._library:
                return digest("function", name)
            self._known[name] = b"itself"  # where it calls itself
            self._known[name] = self._library_digest(self._library[name])
        attributes = [
            (one, self._attribute(called.attr[one]))
            for one in sorted(called.attr)
            if one[0] != "_"
        ]
        return digest(self._known[name], attributes)

    def _library_digest(self, function: Any) -> bytes:
        signature = function.signature
        places = {arg.name: place for place, arg in enumerate(signature.input_arg)}
        body = _Body(function.node_def, places, self._library, self._known)
        outputs = [function.ret[arg.name] for arg in signature.output_arg]
        return body.digest(outputs, function.control_ret.values())


def _base(text: str) -> str:
    return text.lstrip("^").partition(":")[0]
