"""The frames of the script: what their names hold, and who would catch an error."""

from __future__ import annotations

import ast
import dis
import sys
import types
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from feedline.job.source.definitions import File, file_of
from feedline.job.source.lines import is_library

_GET_ITER = dis.opmap["GET_ITER"]
_OPTIMIZED = 0x1
# Handlers that an error in a step does not come to.
_NOT_OF_STEPS = {
    *("KeyboardInterrupt", "SystemExit", "GeneratorExit", "StopIteration"),
    *("ImportError", "ModuleNotFoundError"),
}


def running(code: types.CodeType | None) -> types.FrameType | None:
    """The innermost frame of this thread that runs this code."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame


def values_in(frame: types.FrameType, names: Iterable[str]) -> dict[str, Any] | None:
    """What these names of the frame's own hold; None where one of them is not set."""
    if not frame.f_code.co_flags & _OPTIMIZED:  # the top of a file
        found = frame.f_globals
        return _picked(found, names)
    local: Any = frame.f_locals
    values = _picked(local, names)
    if isinstance(local, dict):
        # Before Python 3.13 this is a copy that the frame keeps: it would hold on to
        # what the script lets go.
        local.clear()
    return values


def _picked(found: Any, names: Iterable[str]) -> dict[str, Any] | None:
    try:
        return {name: found[name] for name in names}
    except KeyError:
        return None


def starts_a_loop(frame: types.FrameType) -> bool:
    """Is it a `for` that asks for an iterator right now, and not something in between,
    such as `enumerate`?"""
    return frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] == _GET_ITER


def reads_directly(code: types.CodeType | None) -> bool:
    """Asked while an iterator is being made: is it a `for` of this code that asks for
    it, with nothing in between?"""
    frame = running(code)
    return frame is not None and starts_a_loop(frame)


def caller_of(
    frame: types.FrameType | None, body: types.CodeType | None
) -> types.CodeType | None:
    """The user's function that the body of a loop called to come to this frame, the
    outermost; `body` is the code that the loop stands in. None where the body itself
    is here, or does not show."""
    found = None
    while frame is not None and frame.f_code is not body:
        if not is_library(frame.f_code.co_filename):
            found = frame.f_code
        frame = frame.f_back
    return found if frame is not None else None


def caught(frame: types.FrameType | None) -> bool:
    """Would the script notice an error from here, and could it go on?"""
    while frame is not None:
        code = frame.f_code
        if not is_library(code.co_filename):
            found = file_of(code)
            if found is None or frame.f_lineno in _guarded(found):
                return True
        frame = frame.f_back
    return False


@lru_cache(maxsize=64)
def _guarded(file: File) -> frozenset[int]:
    """The lines inside of a `try` that sees errors of a step."""
    lines: set[int] = set()
    kinds = (ast.Try, getattr(ast, "TryStar", ast.Try))
    for node in ast.walk(file.tree):
        if isinstance(node, kinds) and (
            node.finalbody or not all(map(_is_elsewhere, node.handlers))
        ):
            for part in (*node.body, *node.orelse, *node.handlers):
                lines |= {*range(part.lineno, (part.end_lineno or part.lineno) + 1)}
    return frozenset(lines)


def _is_elsewhere(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type
    listed = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
    return all(getattr(kind, "id", "") in _NOT_OF_STEPS for kind in listed)
