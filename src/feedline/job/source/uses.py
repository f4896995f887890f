"""What a Python function has at hand: TensorFlow, or what a forked process must not
share. Nothing is run: the compiled code of the function, and of the user's functions
that it calls, is looked through for the names that it uses.

Whether it keeps a state is for `purity.py`; this errs on the side of seeing something.
"""

from __future__ import annotations

import builtins
import dis
import functools
import inspect
import io
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from feedline.job.private.tensorflow import AUTOGRAPH_PACKAGE
from feedline.job.source.users import is_user
from feedline.job.tfdata.functions import closure, unwrapped

_MOST_FUNCTIONS = 200
_TENSORFLOW = ("tensorflow", "keras", "tf_keras", "tensorflow_text", "tensorflow_io")
_LOADS = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF"}


def tensorflow_in(func: Callable[..., Any]) -> str | None:
    """What of TensorFlow the function uses, None where nothing is seen."""
    look = _Look()
    look.at(func)
    return look.tensorflow[0] if look.tensorflow else None


def bound_to_here(func: Callable[..., Any]) -> str | None:
    """What the function holds that a forked process must not share: an open
    file, a connection, an iterator that is used up as it is read."""
    look = _Look()
    look.at(func)
    return look.bound[0] if look.bound else None


class _Look:
    def __init__(self) -> None:
        self.tensorflow: list[str] = []
        self.bound: list[str] = []
        self._done: set[int] = set()

    def at(self, func: Any) -> None:
        waiting = [func]
        while waiting and len(self._done) <= _MOST_FUNCTIONS:
            one = waiting.pop()
            if id(one) not in self._done:
                self._done.add(id(one))
                waiting += self._one(one)

    def _one(self, func: Any) -> Iterator[Any]:
        if isinstance(func, functools.partial):
            for value in (*func.args, *func.keywords.values()):
                yield from self._value("an argument of partial", value)
        func = unwrapped(func)
        owner = getattr(func, "__self__", None)
        if owner is not None and not inspect.ismodule(owner):
            yield from self._object(owner)
        func = getattr(func, "__func__", func)
        if not hasattr(func, "__code__"):
            call = inspect.getattr_static(type(func), "__call__", None)
            if not hasattr(call, "__code__"):
                return
            yield from self._object(func)
            func = call
        yield from self._code(func.__code__, func)

    def _object(self, owner: Any) -> Iterator[Any]:
        """What an object holds may be what its method uses."""
        if _is_tensorflow(type(owner)) and type(owner).__module__ != "__main__":
            self.tensorflow.append(type(owner).__name__)
        for name, value in getattr(owner, "__dict__", {}).items():
            yield from self._value(f"self.{name}", value)

    def _code(self, code: types.CodeType, func: Any) -> Iterator[Any]:
        inside = closure(func)
        around = getattr(func, "__globals__", {})
        at = code.co_qualname if hasattr(code, "co_qualname") else code.co_name
        own = set(code.co_cellvars)
        chain: Any = None
        for step in dis.get_instructions(code):
            name = step.argval if isinstance(step.argval, str) else ""
            if step.opname in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"):
                chain = getattr(chain, name, None) if inspect.ismodule(chain) else None
                yield from self._value(f"{at} uses .{name}", chain)
            elif step.opname == "IMPORT_NAME":
                chain = sys.modules.get(name.partition(".")[0])
                yield from self._value(f"{at} imports {name}", sys.modules.get(name))
            elif step.opname in _LOADS and name not in own and name != "ag__":
                chain = inside.get(
                    name, around.get(name, getattr(builtins, name, None))
                )
                yield from self._value(f"{at} uses {name}", chain)
            elif isinstance(step.argval, types.CodeType):
                yield types.FunctionType(
                    step.argval,
                    around,
                    closure=tuple(
                        types.CellType(inside[free])
                        if free in inside
                        else types.CellType()
                        for free in step.argval.co_freevars
                    ),
                )

    def _value(self, how: str, value: Any) -> Iterator[Any]:
        """Something that the function has at hand."""
        if type(value).__module__.startswith(AUTOGRAPH_PACKAGE):
            return
        if _is_tensorflow(value):
            self.tensorflow.append(how)
        elif isinstance(value, io.IOBase) or _is_connection(value):
            self.bound.append(f"{how}, which is open")
        elif hasattr(value, "__next__") and not inspect.isclass(value):
            self.bound.append(f"{how}, an iterator")
        elif callable(value) and not inspect.isclass(value) and is_user(value):
            yield value


def _is_tensorflow(value: Any) -> bool:
    if value is None or isinstance(value, str | bytes | int | float):
        return False
    kinds = (type(value),) if not inspect.isclass(value) else (value,)
    modules = [_module(value), *(kind.__module__ for kind in kinds)]
    return any(name.partition(".")[0] in _TENSORFLOW for name in modules)


def _module(value: Any) -> str:
    if inspect.ismodule(value):
        return value.__name__
    named = getattr(value, "__module__", None)
    return named if isinstance(named, str) else type(value).__module__


def _is_connection(value: Any) -> bool:
    kind = type(value)
    return f"{kind.__module__}.{kind.__name__}" in (
        *("socket.socket", "sqlite3.Connection", "sqlite3.Cursor", "ssl.SSLSocket"),
        *("_thread.lock", "_thread.RLock", "h5py._hl.files.File"),
    )
