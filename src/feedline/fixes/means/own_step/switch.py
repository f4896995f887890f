"""A switch in front of statements of a script: they run as they stand, or what they
would leave comes from elsewhere. Its parts are constants of the code, so that the
script has no name of ours."""

from __future__ import annotations

import ast
import itertools
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from feedline.job.source import definitions

Taker: TypeAlias = Callable[[types.FrameType], "tuple[Any, ...] | None"]

_numbers = itertools.count()


class Switch:
    """Off until a taker is set. A taker gets the frame, and returns what the
    statements would leave, or None to have them run."""

    def __init__(self) -> None:
        self._key = f"\0feedline {next(_numbers)} "
        self._on: list[bool] = []
        self._results: list[tuple[Any, ...]] = []
        self._taker: Taker | None = None

    def lead(self, taker: Taker | None) -> None:
        self._taker = taker
        self._on[:] = [] if taker is None else [True]

    def _take(self) -> bool:
        taker = self._taker
        result = taker(sys._getframe(1)) if taker is not None else None
        if result is None:
            return False
        self._results.append(result)
        return True

    @property
    def constants(self) -> dict[str, Any]:
        """What stands in the code for its parts, and the parts."""
        return {
            self._key + "on": self._on.__len__,
            self._key + "take": self._take,
            self._key + "give": self._results.pop,
        }

    def before(self, statements: Sequence[ast.stmt], given: Sequence[str]) -> ast.stmt:
        """The statements with the switch in front of them; `given` are the names that
        are set where it is on."""
        on, take, give = (
            ast.Call(func=ast.Constant(value=key), args=[], keywords=[])
            for key in self.constants
        )
        names: list[ast.expr] = [ast.Name(id=n, ctx=ast.Store()) for n in given]
        instead: ast.stmt = ast.Expr(value=give)
        if names:
            target = ast.Tuple(elts=names, ctx=ast.Store())
            instead = ast.Assign(targets=[target], value=give)
        both = ast.BoolOp(op=ast.And(), values=[on, take])
        test = ast.UnaryOp(op=ast.Not(), operand=both)
        # In this order the compiler meets the names as it would without us.
        made = ast.If(test=test, body=[], orelse=[instead])
        first = statements[0]
        for node in ast.walk(made):
            if isinstance(node, ast.expr | ast.stmt):
                node.lineno = node.end_lineno = first.lineno
                node.col_offset = node.end_col_offset = first.col_offset
        made.body = [*statements]
        return made


def with_constants(
    plain: types.CodeType, code: types.CodeType, constants: dict[str, Any]
) -> types.CodeType:
    """`code`, made from the same source as `plain` but for some switches, with their
    parts in it. Raises ValueError where it differs in anything else."""
    inner_plain = [each for each in plain.co_consts if _is_code(each)]
    inner = [each for each in code.co_consts if _is_code(each)]
    if len(inner) != len(inner_plain):
        raise ValueError(f"{code.co_name} has other functions in it")
    made = [
        with_constants(one, other, constants)
        for one, other in zip(inner_plain, inner, strict=True)
    ]
    if plain == code:
        return plain
    waiting = iter(made)
    result = code.replace(
        co_consts=tuple(
            next(waiting) if _is_code(each) else _part(each, constants)
            for each in code.co_consts
        )
    )
    has_switch = any(isinstance(c, str) and c in constants for c in code.co_consts)
    like = result.replace(
        co_code=plain.co_code,
        co_consts=plain.co_consts,
        co_stacksize=plain.co_stacksize,
        **_tables(plain),
    )
    if like != plain or not (has_switch or _only_inside(plain, code)):
        raise ValueError(f"{code.co_name} is not the same without its switch")
    definitions.rewritten[result] = plain
    return result


def _tables(plain: types.CodeType) -> dict[str, Any]:
    names = ("co_linetable", "co_exceptiontable")
    return {name: getattr(plain, name) for name in names if hasattr(plain, name)}


def _only_inside(plain: types.CodeType, code: types.CodeType) -> bool:
    """Do they differ in the functions in them alone?"""
    return plain == code.replace(co_consts=plain.co_consts) and [
        each for each in plain.co_consts if not _is_code(each)
    ] == [each for each in code.co_consts if not _is_code(each)]


def _part(constant: Any, constants: dict[str, Any]) -> Any:
    return constants.get(constant, constant) if isinstance(constant, str) else constant


def _is_code(constant: Any) -> bool:
    return isinstance(constant, types.CodeType)
