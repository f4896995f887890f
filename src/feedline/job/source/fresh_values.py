"""What a Python function makes for itself, seen in its source.

A function that fills an array which it made keeps no state; one that fills an array
of somebody else's does. Its compiled code does not tell them apart, its source does:
a name is the function's own where every value that it is ever given was made there
and then. Without a source nothing is.
"""

from __future__ import annotations

import ast
import builtins
from typing import Any

from feedline.job.tfdata.functions import closure

_MADE = (
    *(ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp),
    *(ast.BinOp, ast.JoinedStr, ast.Constant),
)
_MAKING = {"zeros", "empty", "ones", "full", "array", "arange", "stack", "concatenate"}
_MAKING |= {f"{name}_like" for name in ("zeros", "empty", "ones", "full")}
_COPYING = {"copy", "astype"}
_MAKING_BUILTINS = {"list", "dict", "set", "bytearray", "sorted", "open"}
# What never changes may have any number of owners.
_MAKING_BUILTINS |= {"len", "int", "float", "bool", "str", "range"}


def only_reads(call: ast.Call) -> bool:
    """Is this call of `open` one for reading?"""
    modes = [
        *call.args[1:2],
        *(k.value for k in call.keywords if k.arg in (None, "mode")),
    ]
    return all(
        isinstance(mode, ast.Constant)
        and isinstance(mode.value, str)
        and not set(mode.value) & set("wax+")
        for mode in modes
    )


def own_names(source: ast.AST, func: Any) -> set[str]:
    """The names whose every value the function made itself."""
    stored: dict[str, int] = {}
    made: dict[str, int] = {}
    others: set[str] = set()
    for node in ast.walk(source):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            stored[node.id] = stored.get(node.id, 0) + 1
        elif isinstance(node, ast.arg):
            others.add(node.arg)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            others |= {*node.names}
        for target, value in _given(node):
            if isinstance(target, ast.Name) and (value is None or is_made(value, func)):
                made[target.id] = made.get(target.id, 0) + 1
    return {name for name in stored if stored[name] == made.get(name)} - others


def _given(node: ast.AST) -> list[tuple[ast.expr, ast.expr | None]]:
    """The targets in this node, each with its value; None: what it was, changed."""
    if isinstance(node, ast.Assign):
        return [(target, node.value) for target in node.targets]
    if isinstance(node, ast.AnnAssign | ast.NamedExpr):
        return [(node.target, node.value)] if node.value is not None else []
    if isinstance(node, ast.AugAssign):
        return [(node.target, None)]
    if isinstance(node, ast.withitem) and node.optional_vars is not None:
        return [(node.optional_vars, node.context_expr)]
    return []


def is_made(value: ast.expr, func: Any) -> bool:
    """Is this a new object, that nobody else has?"""
    if isinstance(value, _MADE):
        return True
    if not isinstance(value, ast.Call) or any(k.arg == "copy" for k in value.keywords):
        return False
    called = value.func
    if isinstance(called, ast.Name):
        return called.id in _MAKING_BUILTINS and _meant(called.id, func) is getattr(
            builtins, called.id
        )
    if not isinstance(called, ast.Attribute):
        return False
    if called.attr in _COPYING:
        return True
    base = called.value
    module = _meant(base.id, func) if isinstance(base, ast.Name) else None
    return called.attr in _MAKING and getattr(module, "__name__", "") == "numpy"


def _meant(name: str, func: Any) -> Any:
    """What a name stands for in this function, local ones apart."""
    inside, around = closure(func), getattr(func, "__globals__", {})
    return inside.get(name, around.get(name, getattr(builtins, name, None)))
