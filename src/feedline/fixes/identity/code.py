"""Python, told by its compiled code: a function, all of the user's own that it calls,
its defaults, what it has taken along and the globals it reads; classes by their
methods; objects by their class and by those attributes that its methods name.

What belongs to a library is told by its name: the libraries' versions are told
elsewhere. Nothing is called.
"""

from __future__ import annotations

import dis
import functools
import inspect
import sys
import types
from collections.abc import Iterator
from typing import Any

from feedline.fixes.identity.values import OTHER, plain, some
from feedline.job.private import tensorflow as tf_private
from feedline.job.source.lines import is_library

_MOST = 20_000
_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME")
_NOT_TOLD = {
    *("__dict__", "__weakref__", "__doc__", "__module__", "__annotations__"),
    *("__firstlineno__", "__static_attributes__", "__qualname__", "__slots__"),
    *("__abstractmethods__", "_abc_impl", "__parameters__", "__orig_bases__"),
    *("__annotate_func__", "__annotations_cache__", "__dataclass_fields__"),
}


class Untold(Exception):
    """There is too much to tell."""


class Teller:
    """Tells values of any kind. What it has told before it names by number, so that
    things that hold each other come to an end."""

    def __init__(self) -> None:
        self._known: dict[int, int] = {}
        self._kept: list[Any] = []  # an `id` belongs to one object while it lives

    def tell(self, value: Any) -> Any:
        if value is None or type(value) in (bool, int, float, str, bytes):
            return value
        if id(value) in self._known:
            return ("again", self._known[id(value)])
        self._known[id(value)] = len(self._known)
        self._kept.append(value)
        if len(self._known) > _MOST:
            raise Untold("it uses very many things")
        told = plain(value, self.tell)
        return self._other(value) if told is OTHER else told

    def _other(self, value: Any) -> Any:
        if isinstance(value, types.CodeType):
            return self.code(value)
        if isinstance(value, functools.partial):
            parts = (value.func, value.args, value.keywords)
            return ("partial", *map(self.tell, parts))
        if isinstance(value, types.MethodType):
            return ("method", self.tell(value.__func__), self.tell(value.__self__))
        if isinstance(value, types.FunctionType):
            return self._function(value) if users(value) else self._around(value)
        if isinstance(value, staticmethod | classmethod):
            return (type(value).__name__, self.tell(value.__func__))
        if isinstance(value, property):
            methods = (value.fget, value.fset, value.fdel)
            return ("property", *map(self.tell, methods))
        if inspect.isclass(value):
            return self._class(value) if users(value) else named(value)
        if inspect.ismodule(value) or inspect.isroutine(value):
            return named(value)
        for name in ("python_function", "__wrapped__"):  # a `tf.function`, a cached one
            if inspect.getattr_static(value, name, None) is not None:
                fused = tf_private.jit_compile.get(value)
                return (named(type(value)), self.tell(getattr(value, name)), fused)
        return self._object(value)

    # --------------------------------------------------------------- functions

    def code(self, code: types.CodeType) -> Any:
        return (
            code.co_name,
            code.co_code,
            tuple(map(self._constant, code.co_consts)),
            *(code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars),
            *(code.co_argcount, code.co_kwonlyargcount, code.co_posonlyargcount),
            *(code.co_flags, getattr(code, "co_exceptiontable", b"")),
        )

    def _constant(self, value: Any) -> Any:
        """Constants are shared between functions as the interpreter likes: they are
        told in full each time."""
        if isinstance(value, types.CodeType):
            return self.code(value)
        if isinstance(value, tuple):
            return tuple(map(self._constant, value))
        if isinstance(value, frozenset):
            return ("frozenset", *sorted(map(repr, map(self._constant, value))))
        return (type(value).__name__, repr(value))

    def _function(self, function: types.FunctionType) -> Any:
        around = {}
        for name, value in _globals(function):
            around[name] = self.tell(value)
        return (
            "function",
            self.code(function.__code__),
            self.tell(function.__defaults__),
            self.tell(function.__kwdefaults__),
            [(name, self.tell(value)) for name, value in taken_along(function)],
            sorted(around.items(), key=lambda pair: pair[0]),
        )

    def _around(self, function: types.FunctionType) -> Any:
        """A library's, which may lead to one of the user's."""
        held = [value for _, value in taken_along(function) if _is_code(value)]
        held.append(getattr(function, "__wrapped__", None))
        return (named(function), *map(self.tell, held))

    # ----------------------------------------------------- classes and objects

    def _class(self, kind: type) -> Any:
        own = [
            (name, self.tell(value))
            for name, value in sorted(vars(kind).items())
            if isinstance(value, property)
            or (name not in _NOT_TOLD and not inspect.isdatadescriptor(value))
        ]
        return ("class", kind.__qualname__, [self.tell(b) for b in kind.__bases__], own)

    def _object(self, value: Any) -> Any:
        from feedline.fixes.identity.step import keras_object

        kind = type(value)
        told: list[Any] = [named(kind), self.tell(kind)]
        held = _attributes(value)
        if users(kind):
            wanted = _mentioned(kind)
            held = [(n, v) for n, v in held if n in wanted or _is_code(v)]
        else:
            # A library's object may run something of the user's.
            held = [(n, v) for n, v in held if _is_code(v) or users(type(v))]
        told += [(name, self.tell(each)) for name, each in held]
        told.append(keras_object(value, self))
        return tuple(told)


def named(value: Any) -> str:
    module = getattr(value, "__module__", None) or ""
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", "")
    return f"{module}.{name or type(value).__name__}"


def users(value: Any) -> bool:
    """Is it the user's own Python?"""
    code = getattr(value, "__code__", None)
    file = code.co_filename if isinstance(code, types.CodeType) else None
    if file is not None and not file.startswith("<"):
        return not is_library(file)
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    file = getattr(module, "__file__", None)
    if module is None or file is None:  # typed in, or made from text
        return getattr(module, "__name__", "__main__") == "__main__"
    return not is_library(file)


def taken_along(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """The variables of the functions around it."""
    cells = function.__closure__ or ()
    for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # assigned later
            yield name, None


def _globals(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """What it reads of its module, and of modules of the user's by their names."""
    around = function.__globals__
    for code in codes(function.__code__):
        modules = []
        for step in dis.get_instructions(code):
            name = step.argval if isinstance(step.argval, str) else ""
            if step.opname in _GLOBALS and name in around:
                yield name, around[name]
                modules.append(around[name])
            elif step.opname == "IMPORT_NAME":
                modules.append(sys.modules.get(name))
        for module in modules:
            file = getattr(module, "__file__", None)
            if inspect.ismodule(module) and file and not is_library(file):
                for name in code.co_names:
                    if name in vars(module):
                        yield f"{module.__name__}.{name}", vars(module)[name]


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code and all that is nested in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


def _mentioned(kind: type) -> set[str]:
    """The names in the methods of the user's classes."""
    found: set[str] = set()
    for each in kind.__mro__:
        for value in vars(each).values() if users(each) else ():
            for part in (value, getattr(value, "fget", None)):
                function: Any = getattr(part, "__func__", part)
                if isinstance(function, types.FunctionType):
                    for code in codes(function.__code__):
                        found.update(code.co_names)
    return found


def _attributes(value: Any) -> list[tuple[str, Any]]:
    held = getattr(value, "__dict__", None)
    return some(sorted(held.items())) if isinstance(held, dict) else []


def _is_code(value: Any) -> bool:
    function = getattr(value, "__func__", value)
    return isinstance(function, types.FunctionType) and users(function)
