"""Which line of the user's source is running.

A frame is the user's when its file lies outside of the standard library,
installed packages and feedline itself. A module that is run from an installed
package (`-m pkg.module`) is the user's too: `own` says so.
"""

from __future__ import annotations

import ast
import linecache
import os
import sys
import sysconfig
from functools import cache
from types import FrameType
from typing import Any

from feedline.job.pipeline import Where

_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_LIBRARIES = tuple(
    {
        os.path.join(os.path.realpath(path), "")
        for key in ("stdlib", "platstdlib", "purelib", "platlib")
        if (path := sysconfig.get_paths().get(key))
    }
    | {os.path.join(_HOME, "")}
)
_own: set[str] = set()


def own(directory: str) -> None:
    """Count the files below `directory` as the user's."""
    _own.add(os.path.join(os.path.realpath(directory), ""))
    is_library.cache_clear()


@cache
def is_library(filename: str) -> bool:
    if filename.startswith("<") and not filename.startswith("<stdin"):
        return True
    path = os.path.realpath(filename)
    if path.startswith(os.path.join(_HOME, "")):
        return True
    if any(path.startswith(prefix) for prefix in _own):
        return False
    return path.startswith(_LIBRARIES) or f"{os.sep}site-packages{os.sep}" in path


@cache
def package_of(filename: str) -> str:
    """`keras` or `tensorflow` for their files, else an empty string."""
    parts = filename.split(os.sep)
    for name in ("keras", "tensorflow", "tf_keras"):
        if name in parts and is_library(filename):
            return name
    return ""


def user_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost of the user's frames, starting at `frame`."""
    while frame is not None and is_library(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def where_of(frame: FrameType | None) -> Where | None:
    frame = user_frame(frame)
    if frame is None:
        return None
    return line_of(frame.f_code.co_filename, frame.f_lineno)


def line_of(filename: str, line: int) -> Where:
    return Where(filename, line, linecache.getline(filename, line).strip())


def called_by(frame: FrameType | None, *skip: str) -> str:
    """The package that made this call, frames of `skip` and ours left out."""
    while frame is not None:
        filename = frame.f_code.co_filename
        ours = filename.startswith(_HOME)
        if not ours and package_of(filename) not in skip:
            return package_of(filename)
        frame = frame.f_back
    return ""


def here(depth: int = 1) -> FrameType:
    return sys._getframe(depth + 1)


def epochs_around(frame: FrameType | None) -> int | None:
    """How often the user's own `for epoch in range(N)` goes round the line that
    this frame is at; None where there is no such loop or N cannot be told."""
    frame = user_frame(frame)
    if frame is None:
        return None
    lines = linecache.getlines(frame.f_code.co_filename)
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError, RecursionError):
        return None
    times = None
    for node in ast.walk(tree):
        inside = isinstance(node, ast.For) and (
            node.lineno < frame.f_lineno <= (node.end_lineno or 0)
        )
        if inside:
            times = _range_length(node, frame) or times
    return times


def _range_length(loop: Any, frame: FrameType) -> int | None:
    call = loop.iter
    named_range = (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "range"
        and not call.keywords
    )
    if not named_range:
        return None
    values = [_value(argument, frame) for argument in call.args]
    if not values or not all(type(value) is int for value in values):
        return None
    try:
        return len(range(*values)) or None
    except (TypeError, ValueError):
        return None


def _value(node: Any, frame: FrameType) -> Any:
    """A constant, a name or an attribute of one (`args.epochs`), read without
    running anything of the user's."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id))
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        owner = _value(node.value, frame)
        return getattr(owner, "__dict__", {}).get(node.attr)
    return None
