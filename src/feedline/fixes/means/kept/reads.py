"""What a pure function of the user's depends on besides its arguments, read anew at
each call as a part of the key: global names, what it closes over, attributes of its
object.

Whether a function is pure is for `purity.py`. But what a pure function reads may be
changed by others between two calls, and a list or an array can be changed in its place.
So it may read only values that cannot: numbers, text, tuples of these, functions and
modules. Whatever else it names is a reason not to keep its results.
"""

from __future__ import annotations

import builtins
import dis
import enum
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from feedline.fixes.means.kept.values import CannotKeep, key_of
from feedline.job.source.users import is_user

_MOST = 50
_GLOBAL = {"LOAD_GLOBAL", "LOAD_NAME"}
_ATTRIBUTE = {"LOAD_ATTR", "LOAD_METHOD"}


class Reads:
    """Of one function, and of those of the user's that it calls."""

    def __init__(self, function: Any, me: Any = None) -> None:
        self.me = me
        self._globals: dict[tuple[int, str], tuple[dict[str, Any], str]] = {}
        self._cells: list[Any] = []
        self._attributes: set[str] = set()
        self._done: set[int] = set()
        self._function(function, me)
        self.key()  # what cannot be a key is said at once

    def key(self) -> Any:
        """What it depends on, as it is now."""
        return (
            id(self.me),
            tuple(
                _stable(names.get(name, getattr(builtins, name, None)), name)
                for names, name in self._globals.values()
            ),
            tuple(
                _stable(cell.cell_contents, "a name around it") for cell in self._cells
            ),
            tuple(
                _stable(getattr(self.me, name), f"self.{name}")
                for name in sorted(self._attributes)
            ),
        )

    def _function(self, function: Any, me: Any) -> None:
        if id(function) in self._done:
            return
        self._done.add(id(function))
        if len(self._done) > _MOST:
            raise CannotKeep("very many functions")
        defaults = (
            *(function.__defaults__ or ()),
            *(function.__kwdefaults__ or {}).values(),
        )
        for value in defaults:
            _stable(value, "a default")
        code = function.__code__
        mine = code.co_varnames[0] if me is not None and code.co_argcount else ""
        self._cells += function.__closure__ or ()
        self._code(code, function.__globals__, mine)
        for cell in function.__closure__ or ():
            self._called(cell.cell_contents)

    def _code(self, code: Any, names: dict[str, Any], mine: str) -> None:
        steps = list(dis.get_instructions(code))
        for step, after in zip(steps, [*steps[1:], None], strict=True):
            if step.opname in _GLOBAL:
                self._globals[id(names), step.argval] = (names, step.argval)
                self._called(names.get(step.argval))
            elif isinstance(step.argval, types.CodeType):
                self._code(step.argval, names, mine)
            elif mine and _loads(step, mine):
                if after is None or after.opname not in _ATTRIBUTE:
                    raise CannotKeep("its object, which it hands on")
                self._attribute(after.argval)

    def _attribute(self, name: str) -> None:
        found = inspect.getattr_static(type(self.me), name, None)
        if isinstance(found, types.FunctionType) and name not in vars(self.me):
            self._function(found, self.me)
        elif isinstance(found, staticmethod) and name not in vars(self.me):
            self._function(found.__func__, None)
        elif hasattr(found, "__get__") and not isinstance(
            found, types.MemberDescriptorType
        ):
            raise CannotKeep(f"self.{name}, which is computed")
        else:
            self._attributes.add(name)

    def _called(self, value: Any) -> None:
        if isinstance(value, types.FunctionType) and is_user(value):
            self._function(value, None)


def _loads(step: Any, name: str) -> bool:
    if step.opname.startswith("LOAD_CLOSURE") or step.opname == "MAKE_CELL":
        return False
    told = step.argval if isinstance(step.argval, tuple) else (step.argval,)
    return name in told and "LOAD" in step.opname and "ATTR" not in step.opname


def _stable(value: Any, said: str) -> Any:
    """What stands for a value that nobody can change in its place."""
    if isinstance(value, types.ModuleType | type | np.ufunc):
        return id(value)
    if isinstance(value, types.BuiltinFunctionType) and (
        value.__self__ is None or inspect.ismodule(value.__self__)
    ):
        return id(value)  # of a module: `table.get` reads a table
    if isinstance(value, types.FunctionType | enum.Enum | np.dtype):
        return value
    if callable(value) and type(value).__module__.startswith("numpy"):
        return id(value)  # NumPy's functions that other types may override
    try:
        return key_of(value)
    except CannotKeep:
        kind = type(value).__name__
        raise CannotKeep(f"{said}, a {kind} that may change") from None


def functions_in(function: Any, me: Any = None) -> Iterator[tuple[Any, Any]]:
    """The user's functions that this one names, each with its object."""
    names = function.__globals__ if hasattr(function, "__globals__") else {}
    yield from named_in(function.__code__, names, me, _contents(function))


def named_in(
    code: Any, names: dict[str, Any], me: Any, around: dict[str, Any]
) -> Iterator[tuple[Any, Any]]:
    for step in dis.get_instructions(code):
        if isinstance(step.argval, types.CodeType):
            yield from named_in(step.argval, names, me, around)
            continue
        if not isinstance(step.argval, str):
            continue
        name = step.argval
        if step.opname in _ATTRIBUTE and me is not None:
            found = inspect.getattr_static(type(me), name, None)
            if isinstance(found, types.FunctionType) and name not in vars(me):
                yield found, me
            elif isinstance(found, staticmethod) and name not in vars(me):
                yield found.__func__, None
        elif step.opname in _GLOBAL:
            yield from _as_function(names.get(name))
        elif name in around:
            yield from _as_function(around[name])


def _as_function(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, types.FunctionType):
        yield value, None


def _contents(function: Callable[..., Any]) -> dict[str, Any]:
    from feedline.job.tfdata.functions import closure

    return dict(closure(function))
