"""The names of the files that a traced function reads.

A function that reads files (`tf.io.read_file(path)`, `TFRecordDataset(path)` in an
interleave) has their names from its element, from a constant or from what it
captured; where the name is put together inside the function, nobody can tell, and
nothing is kept of it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf

from feedline.fixes.means.store.graphs import Unknown

_READERS = {
    "ReadFile",
    "TFRecordDataset",
    "TFRecordDatasetV2",
    "TextLineDataset",
    "FixedLengthRecordDataset",
    "FixedLengthRecordDatasetV2",
    "CSVDataset",
    "CSVDatasetV2",
}
_OUTSIDE = {
    *("MatchingFiles", "SqlDataset", "LMDBDataset", "LoadDataset", "Restore"),
    *("RestoreV2", "RestoreSlice", "GeneratorDataset", "DatasetFromGraph"),
}
_PYTHON = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}
# Ops that hand strings on as they are, with the inputs that hold them.
_HANDING_ON: dict[str, slice] = {
    **dict.fromkeys(
        ("Identity", "Reshape", "ExpandDims", "Squeeze", "StridedSlice", "Slice"),
        slice(0, 1),
    ),
    **dict.fromkeys(("GatherV2", "Gather", "Unpack", "Tile"), slice(0, 1)),
    **dict.fromkeys(
        ("IdentityN", "Pack", "TensorSliceDataset", "TensorDataset"), slice(None)
    ),
    "ConcatV2": slice(0, -1),
    **dict.fromkeys(
        ("PrefetchDataset", "TakeDataset", "SkipDataset", "ShardDataset"), slice(0, 1)
    ),
}
_MOST_NAMES = 4_000_000
_MOST_SECONDS = 20.0


@dataclass
class Names:
    """File names in a function: constants, and whether elements bring more."""

    constants: set[bytes] = field(default_factory=set)
    from_elements: bool = False


def names_in(traced: Any, *, python: bool = False) -> Names | None:
    """The names that a traced function reads by; None where it reads nothing. With
    `python`, the Python in it is known to open no file."""
    function = traced.function
    graph = function.graph
    proto = graph.as_graph_def()
    library = {one.signature.name: one for one in proto.library.function}
    arguments = [tensor.op.name for tensor in graph.inputs]
    search = _Search(library, function.captured_inputs, len(arguments), python=python)
    search.look(_Scope(proto.node, arguments, None, None))
    return search.names if search.reads else None


def strings_of(dataset: Any, most: int = _MOST_NAMES) -> Iterator[bytes]:
    """Every string in the elements of a dataset; it is read for that."""
    places = [
        place
        for place, spec in enumerate(tf.nest.flatten(dataset.element_spec))
        if isinstance(spec, tf.TensorSpec) and spec.dtype == tf.string
    ]
    if not places:
        raise Unknown("files whose names are not in the elements")

    def strings(*element: Any) -> Any:
        flat = tf.nest.flatten(element)
        return tf.concat([tf.reshape(flat[place], [-1]) for place in places], 0)

    began, count = time.monotonic(), 0
    for many in dataset.map(strings).unbatch().batch(4096):
        found = many.numpy()
        count += len(found)
        if count > most or time.monotonic() - began > _MOST_SECONDS:
            raise Unknown("too many names of files to look at")
        yield from found.tolist()


class _Scope:
    """One function's nodes, and the node of `outer` that calls it."""

    def __init__(
        self, nodes: Iterable[Any], arguments: list[str], outer: Any, caller: Any
    ) -> None:
        self.nodes = {node.name: node for node in nodes}
        self.arguments = arguments
        self.outer = outer
        self.caller = caller
        self.depth: int = 0 if outer is None else outer.depth + 1


class _Search:
    def __init__(
        self, library: Any, captured: Any, arguments: int, *, python: bool
    ) -> None:
        self.names = Names()
        self.reads = False
        self._refused = _OUTSIDE if python else _OUTSIDE | _PYTHON
        self._library = library
        self._captured = list(captured)
        self._from_element = arguments - len(self._captured)

    def look(self, scope: _Scope) -> None:
        """Find what reads, in here and in the functions that are called."""
        if scope.depth > 32:
            raise Unknown("functions that call each other")
        for node in scope.nodes.values():
            if node.op in self._refused or ">" in node.op:
                raise Unknown(f"{node.op} in a function")
            if node.op in _READERS:
                self.reads = True
                self._trace(scope, node.input[0])
            for name in _called(node):
                inner = self._library.get(name)
                if inner is not None:
                    arguments = [arg.name for arg in inner.signature.input_arg]
                    self.look(_Scope(inner.node_def, arguments, scope, node))

    def _trace(self, scope: _Scope, tensor: str) -> None:
        """Where does this string come from?"""
        name = tensor.lstrip("^").partition(":")[0]
        if name in scope.arguments:
            self._argument(scope, scope.arguments.index(name))
            return
        node = scope.nodes[name]
        if node.op == "Const":
            value = tf.make_ndarray(node.attr["value"].tensor)
            if value.dtype == object:
                self.names.constants.update(np.ravel(value).tolist())
        elif node.op in _HANDING_ON:
            inputs = [one for one in node.input if one[0] != "^"]
            for one in inputs[_HANDING_ON[node.op]]:
                self._trace(scope, one)
        else:
            raise Unknown(f"a file name that {node.op} makes")

    def _argument(self, scope: _Scope, place: int) -> None:
        if scope.outer is None:
            if place < self._from_element:
                self.names.from_elements = True
            else:
                tensor = self._captured[place - self._from_element]
                if tensor.dtype == tf.string:
                    self.names.constants.update(np.ravel(tensor.numpy()).tolist())
            return
        caller = scope.caller
        inputs = [one for one in caller.input if one[0] != "^"]
        if caller.op in ("PartitionedCall", "StatefulPartitionedCall"):
            self._trace(scope.outer, inputs[place])
        elif "Targuments" in caller.attr and caller.op.split("Dataset")[0] in (
            *("FlatMap", "Map", "Interleave", "ParallelMap", "ParallelInterleave"),
        ):
            captured = len(caller.attr["Targuments"].list.type)
            elements = len(scope.arguments) - captured
            at = 0 if place < elements else 1 + place - elements
            self._trace(scope.outer, inputs[at])
        else:
            raise Unknown(f"a file name inside of {caller.op}")


def _called(node: Any) -> list[str]:
    names = [attr.func.name for attr in node.attr.values() if attr.HasField("func")]
    for attr in node.attr.values():
        names += [one.name for one in attr.list.func]
    return names
