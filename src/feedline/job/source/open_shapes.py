"""May a `tf.function` of the user's be traced once for several shapes?

What its Python does while it is traced would happen once instead of once per shape; so
its source must be of the kind that `graph_safe.py` asks for, and may not look at a
shape that would be open: `x.shape[0] == 1` is then another question. And the script
must not ask how often it was traced, nor save the traces.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
from collections.abc import Iterable
from typing import Any

from feedline.job.loops.loop import CannotRun
from feedline.job.source.definitions import definition_of
from feedline.job.source.dependencies import Dependency
from feedline.job.source.graph_safe import Look
from feedline.job.source.lines import is_library
from feedline.job.source.users import instead_of

_SHAPES = {"shape", "get_shape", "set_shape", "static_shape", "as_list", "dims"}
_TRACES = (
    *("experimental_get_tracing_count", "pretty_printed_concrete_signatures"),
    *("saved_model", "_list_all_concrete_functions"),
)


def dependencies_of_trace(
    function: Any, me: Any = None, given: Iterable[Any] = ()
) -> tuple[Dependency, ...]:
    """What tracing the function looks at besides its arguments; raises `CannotRun` with
    the reason where the traces of several shapes cannot be one."""
    look = _Collecting()
    look.function(function, me)
    for each in given:
        look.object(each)
    look.finish()
    for each in look.functions:
        _check_shapes(each)
    return tuple(look.held.values())


class _Collecting(Look):
    """Remembers whose source it has read."""

    def __init__(self) -> None:
        super().__init__(graph=True)
        self.functions: list[Any] = []

    def function(self, function: Any, me: Any = None) -> None:
        self.functions.append(function)
        super().function(function, me)


def _check_shapes(function: Any) -> None:
    source = definition_of(instead_of.get(function, function).__code__)
    for node in ast.walk(source) if source is not None else ():
        if (
            isinstance(node, ast.Attribute)
            and node.attr in _SHAPES
            and not _of_module(node.value, function)
        ):
            raise CannotRun(
                f"{function.__name__} looks at .{node.attr} in line {node.lineno}, "
                "which is another thing where a length is open"
            )


def _of_module(node: ast.expr, function: Any) -> bool:
    """`tf.shape(x)`, `keras.ops.shape(x)`: operations."""
    if isinstance(node, ast.Name):
        return inspect.ismodule(function.__globals__.get(node.id))
    return isinstance(node, ast.Attribute) and _of_module(node.value, function)


def check_traces_unseen(function: Any) -> None:
    """Raise where the script may look at the traces themselves."""
    files = {getattr(each, "__file__", None) for each in list(sys.modules.values())}
    files.add(function.__code__.co_filename)
    for file in files:
        if not isinstance(file, str) or is_library(file):
            continue
        text = "".join(linecache.getlines(file))
        found = next((name for name in _TRACES if name in text), None)
        if found is not None:
            raise CannotRun(f"the script may look at its traces ({found})")
