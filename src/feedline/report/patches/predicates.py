"""May a filter stand before a map, as both are written?

feedline itself moves what the filter computes, whatever the elements look like. In
the source the filter's function would be given the map's input instead of its
output. That is the same where every parameter that the filter uses is one that the
map takes at the same place and returns untouched. What cannot be seen to be so is
taken not to be.
"""

from __future__ import annotations

import ast
import textwrap

import libcst as cst

from feedline.report.patches.tree import Call, Tree


def may_stand_before(tree: Tree, keep: Call, work: Call) -> bool:
    """`keep` is the call of filter, `work` that of the map before it."""
    predicate, function = _function(tree, keep), _function(tree, work)
    if predicate is None or function is None:
        return False
    asked, given = _parameters(predicate), _parameters(function)
    if not asked or not given or len(asked) != len(given) or len(asked) < 2:
        return False
    used = {node.id for node in ast.walk(predicate) if isinstance(node, ast.Name)}
    places = [n for n, name in enumerate(asked) if name in used]
    return all(_hands_on(function, place, given) for place in places)


_Function = ast.FunctionDef | ast.Lambda


def _function(tree: Tree, call: Call) -> _Function | None:
    if len(call.node.args) == 0 or call.node.args[0].star:
        return None
    value = call.node.args[0].value
    if isinstance(value, cst.Name):
        named = [
            node
            for node in tree.nodes()
            if isinstance(node, cst.FunctionDef) and node.name.value == value.value
        ]
        assigned = [
            node
            for node in tree.nodes()
            if isinstance(node, cst.AssignTarget)
            and isinstance(node.target, cst.Name)
            and node.target.value == value.value
        ]
        if len(named) != 1 or assigned:
            return None
        return _parsed(tree.code(named[0].with_changes(leading_lines=())))
    return _parsed(tree.code(value)) if isinstance(value, cst.Lambda) else None


def _parsed(code: str) -> _Function | None:
    try:
        body = ast.parse(textwrap.dedent(code).strip()).body
    except (SyntaxError, ValueError, RecursionError):
        return None
    first = body[0].value if body and isinstance(body[0], ast.Expr) else body[0]
    return first if isinstance(first, ast.FunctionDef | ast.Lambda) else None


def _parameters(function: _Function) -> list[str] | None:
    args = function.args
    if args.posonlyargs or args.vararg or args.kwonlyargs or args.kwarg:
        return None
    return None if args.defaults else [each.arg for each in args.args]


def _hands_on(function: _Function, place: int, parameters: list[str]) -> bool:
    """Is what stands at this place always returned at it, and never bound anew?"""
    name = parameters[place]
    if isinstance(function, ast.Lambda):
        returned: list[ast.expr | None] = [function.body]
    else:
        inner = [node for node in ast.walk(function) if node is not function]
        if any(isinstance(node, _OTHER) for node in inner):
            return False
        returned = [node.value for node in inner if isinstance(node, ast.Return)]
    bound = any(
        isinstance(node, ast.Name) and node.id == name
        for node in ast.walk(function)
        if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
    )
    return (
        not bound
        and bool(returned)
        and all(
            isinstance(value, ast.Tuple)
            and len(value.elts) == len(parameters)
            and isinstance(value.elts[place], ast.Name)
            and value.elts[place].id == name  # type: ignore[attr-defined]
            for value in returned
        )
    )


# A function with these inside is not judged.
_OTHER = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.Lambda,
    ast.ClassDef,
    ast.Yield,
    ast.YieldFrom,
    ast.Match,
    ast.Try,
    ast.Global,
    ast.Nonlocal,
)
