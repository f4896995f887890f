"""The source of code that runs: the very text that it was compiled from.

A file may have been edited since it was loaded, and a function may carry another one's
name. So the file is compiled again, and only if that gives the same code is its text
taken for the code's. Whatever feedline compiles itself, from parts of a script, is
noted in `made`, with the script's own line numbers.
"""

from __future__ import annotations

import ast
import itertools
import linecache
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

Function: TypeAlias = ast.FunctionDef | ast.Lambda

made: dict[types.CodeType, ast.FunctionDef] = {}
"""Functions that were made from parts of a script: no file has them."""

rewritten: dict[types.CodeType, types.CodeType] = {}
"""Code that a step was led out of (`own_step/hoist.py`), and what it was."""


@dataclass(frozen=True, eq=False)
class File:
    """A file's text, its tree and all code in it."""

    text: str
    tree: ast.Module
    codes: tuple[types.CodeType, ...]

    def scope_of(self, code: types.CodeType) -> ast.Module | Function | None:
        """The module or the function whose code this is, or was."""
        code = rewritten.get(code, code)
        if code.co_name == "<module>":
            return self.tree
        found = [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.FunctionDef | ast.Lambda)
            and getattr(node, "name", "<lambda>") == code.co_name
            and _first_line(node) == code.co_firstlineno
        ]
        if len(found) > 1:  # lambdas of one line
            found = [node for node in found if _covers(node, code)]
            found = found[-1:] if _one_in_another(found) else found
        return found[0] if len(found) == 1 else None


_files: dict[int, tuple[types.CodeType, File | None]] = {}  # by `id`, held on to


def file_of(code: types.CodeType) -> File | None:
    """The file that this code was compiled from; None where it is not at hand, or has
    changed since."""
    known = _files.get(id(code))
    if known is None:
        plain = rewritten.get(code, code)
        text = "".join(linecache.getlines(plain.co_filename))
        found = _parsed(text, plain.co_filename)
        fits = found is not None and plain in found.codes
        known = _files[id(code)] = (code, found if fits else None)
    return known[1]


def definition_of(code: types.CodeType) -> Function | None:
    """The `def` or the `lambda` of this code."""
    if code in made:
        return made[code]
    found = file_of(code)
    scope = found.scope_of(code) if found is not None else None
    return None if isinstance(scope, ast.Module) else scope


@lru_cache(maxsize=64)
def _parsed(text: str, filename: str) -> File | None:
    if not text:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text, filename)
            code = compile(text, filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return None
    return File(text, tree, tuple(all_codes(code)))


def all_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """This code and all that stands in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from all_codes(constant)


def _covers(node: Function, code: types.CodeType) -> bool:
    """Does every instruction stand in the body? Python tells from 3.11 on."""
    body = node.body
    if isinstance(body, list) or not hasattr(code, "co_positions"):
        return False
    arguments = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
    if arguments != [*code.co_varnames[: code.co_argcount]]:
        return False
    start = (body.lineno, body.col_offset)
    end = (body.end_lineno or 0, body.end_col_offset or 0)
    placed = [
        ((line, column), (last, last_column))
        for line, last, column, last_column in code.co_positions()
        if None not in (line, last, column, last_column)
        and (column, last_column) != (0, 0)
    ]
    return bool(placed) and all(start <= one and other <= end for one, other in placed)


def _one_in_another(nodes: list[Function]) -> bool:
    """Does each stand in the one before it? The last is then the closest."""
    return len(nodes) > 1 and all(
        any(inner is each for each in ast.walk(outer))
        for outer, inner in itertools.pairwise(nodes)
    )


def _first_line(node: Function) -> int:
    """As the compiler counts: of its decorators, where it has any."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min(each.lineno for each in (node, *decorators))
