"""Which line of the user's source is running.

A frame is the user's when its file lies outside of the standard library,
installed packages and feedline itself. A module that is run from an installed
package (`-m pkg.module`) is the user's too: `own` says so.
"""

from __future__ import annotations

import ast
import linecache
import operator
import os
import re
import sys
import sysconfig
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

from feedline.job.tfdata.pipeline import Where

HOME = os.path.join(Path(os.path.abspath(__file__)).parents[2], "")
_LIBRARIES = tuple(
    {
        os.path.join(os.path.realpath(path), "")
        for key in ("stdlib", "platstdlib", "purelib", "platlib")
        if (path := sysconfig.get_paths().get(key))
    }
    | {HOME}
)
_OUR_LINES = re.compile(
    r'(?: *File "<string>", line 1, in <module>\n\n?)?'
    rf'(?: *File "{re.escape(HOME)}[^"\n]*", line \d+, in .*\n\n?)+'
)
_own: set[str] = set()


def own(directory: str) -> None:
    """Count the files below `directory` as the user's."""
    _own.add(os.path.join(os.path.realpath(directory), ""))
    is_library.cache_clear()


def is_ours(filename: str) -> bool:
    return filename.startswith(HOME)


def without_ours(text: str) -> str:
    """A traceback in words, without our frames."""
    return _OUR_LINES.sub("", text)


@cache
def is_library(filename: str) -> bool:
    if filename.startswith("<") and not filename.startswith("<stdin"):
        return True
    if "__autograph_generated_file" in filename:  # a translation of the user's
        return True
    path = os.path.realpath(filename)
    if is_ours(path):
        return True
    # The nearest folder decides: a project may lie in an installed package, and
    # a virtual environment in a project.
    head, installed, _ = path.rpartition(f"{os.sep}site-packages{os.sep}")
    folders = [*_LIBRARIES, head + installed] if installed else _LIBRARIES
    return _nearest(path, folders) > _nearest(path, _own)


def _nearest(path: str, folders: Iterable[str]) -> int:
    """The length of the longest of these folders that holds the path, or -1."""
    lengths = (len(folder) for folder in folders if path.startswith(folder))
    return max(lengths, default=-1)


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


def here(depth: int = 1) -> FrameType:
    return sys._getframe(depth + 1)


def rounds_around(frame: FrameType | None) -> tuple[int | None, ...]:
    """How often the user's own `for ... in range(N)` loops go round the line that
    this frame is at, outermost first; None for a loop whose number cannot be told.
    Where there is no loop in the function itself, its caller's count."""
    frame = user_frame(frame)
    while frame is not None:
        found = _rounds_in(frame)
        if found or frame.f_code.co_name == "<module>":
            return found
        frame = user_frame(frame.f_back)
    return ()


def _rounds_in(frame: FrameType) -> tuple[int | None, ...]:
    code = frame.f_code
    lines = linecache.getlines(code.co_filename)
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError, RecursionError):
        return ()
    return tuple(
        _range_length(node.iter, frame) if isinstance(node, ast.For) else None
        for node in ast.walk(tree)
        if isinstance(node, ast.For | ast.While)
        and code.co_firstlineno <= node.lineno < frame.f_lineno
        and frame.f_lineno <= (node.end_lineno or 0)
    )


def _range_length(call: Any, frame: FrameType) -> int | None:
    """Of `range(...)`, also inside a progress bar."""
    if not isinstance(call, ast.Call) or not call.args:
        return None
    if isinstance(call.args[0], ast.Call):
        return _range_length(call.args[0], frame)
    if getattr(call.func, "id", "") not in ("range", "trange"):
        return None
    values = [_value(argument, frame) for argument in call.args]
    if not all(type(value) is int for value in values):
        return None
    try:
        return len(range(*values)) or None
    except (TypeError, ValueError):
        return None


_ARITHMETIC: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


def _value(node: Any, frame: FrameType) -> Any:
    """A constant, a name, an attribute or an item of one (`args.epochs + 1`), read
    without running anything of the user's."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id))
    if isinstance(node, ast.Attribute):
        owner = _value(node.value, frame)
        return getattr(owner, "__dict__", {}).get(node.attr)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        owner = _value(node.value, frame)
        return owner.get(node.slice.value) if type(owner) is dict else None
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        left, right = _value(node.left, frame), _value(node.right, frame)
        if type(left) is int and type(right) is int:
            return _ARITHMETIC[type(node.op)](left, right)
    return None
