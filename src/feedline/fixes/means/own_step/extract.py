"""Statements of a script compiled aside, as a function that the script does not know.

The function sees what the statements see where they stand: the globals of the file, and
the names of the frame, either given at each call (parameters) or taken along once
(captured). In tracebacks and logs it goes by the name and the lines of the script's own
function.
"""

from __future__ import annotations

import ast
import builtins
import copy
import types
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from feedline.job.source import definitions
from feedline.job.source.scopes import Scope

_LOCALS = "\0feedline locals"
# No script can have such names.
_STEP, _AROUND = "<step>", "<around>"


@dataclass(frozen=True, eq=False)
class Extracted:
    """`parameters` are names of the frame that are given at each call, `captured`
    those that are taken along, as the code orders them."""

    code: types.CodeType
    parameters: tuple[str, ...]
    captured: tuple[str, ...]

    def function(
        self, around: dict[str, Any], values: Mapping[str, Any]
    ) -> types.FunctionType:
        """`around` are the globals of the file, `values` what is captured."""
        cells = tuple(types.CellType(values[name]) for name in self.captured)
        return types.FunctionType(self.code, around, self.code.co_name, None, cells)


def extracted(
    statements: Sequence[ast.stmt],
    parameters: Iterable[str],
    local: Iterable[str],
    scope: Scope,
    path: str,
    *,
    returns: bool = False,
) -> Extracted:
    """`local` are the names of the frame; with `returns` the function returns what
    its own names hold at its end."""
    given = tuple(sorted(parameters))
    known = _function(_STEP, given, [copy.deepcopy(each) for each in statements])
    inner = copy.deepcopy(known)
    if returns:
        held = ast.Call(func=ast.Constant(value=_LOCALS), args=[], keywords=[])
        inner.body.append(ast.copy_location(ast.Return(value=held), inner.body[-1]))
    back = ast.Return(value=ast.Name(id=_STEP, ctx=ast.Load()))
    outer = _function(_AROUND, sorted({*local} - {*given}), [inner, back])
    module = ast.fix_missing_locations(ast.Module(body=[outer], type_ignores=[]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = compile(module, path, "exec", dont_inherit=True)
    code = next(c for c in definitions.all_codes(whole) if c.co_name == _STEP)
    name = "<module>" if isinstance(scope, ast.Module) else scope.name
    code = code.replace(
        co_name=name,
        co_consts=tuple(
            builtins.locals if each == _LOCALS else each for each in code.co_consts
        ),
    )
    if hasattr(code, "co_qualname"):
        code = code.replace(co_qualname=name)  # type: ignore[call-arg]
    definitions.made[code] = known
    return Extracted(code, given, code.co_freevars)


def _function(
    name: str, parameters: Sequence[str], body: Sequence[ast.stmt]
) -> ast.FunctionDef:
    """Where its first statement stands."""
    newer: dict[str, Any] = {}
    if "type_params" in ast.FunctionDef._fields:
        newer["type_params"] = []
    function = ast.FunctionDef(
        name=name,
        args=ast.arguments(
            posonlyargs=[],
            args=[ast.arg(arg=each) for each in parameters],
            kwonlyargs=[],
            kw_defaults=[],
            defaults=[],
        ),
        body=[*body],
        decorator_list=[],
        **newer,
    )
    return ast.fix_missing_locations(ast.copy_location(function, body[0]))
