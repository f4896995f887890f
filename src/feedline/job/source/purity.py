"""Does a Python function of the user's give the same for the same arguments, and change
nothing? Judged by its source (`walker.py`); nothing is run.

All that the function and the user's functions that it uses have at hand must be known
to compute (`known_python.py`). What is not known is a doubt, and a doubt is not `pure`.
The unknown values in it are the libraries' own, of which only listed methods may be
called. What a function makes for itself it may change (`fresh_values.py`). Files that
are read count as part of the data.
"""

from __future__ import annotations

import ast
import builtins
import enum
import functools
import inspect
import io
import random
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from feedline.job.source import known_python as python
from feedline.job.source import known_tensorflow as tensorflow
from feedline.job.source.fresh_values import is_made, only_reads
from feedline.job.source.mutating import CHANGING
from feedline.job.source.users import (
    has_users_code,
    is_user,
    is_users_object,
    users_code,
    without_tensorflow,
)
from feedline.job.source.walker import UNKNOWN, Judge, Unknown, Walker

_MOST_FUNCTIONS = 200
_MOST_ITEMS = 1_000_000
_DRAWING = ("random", "numpy.random", "secrets", "uuid")
_MAKING = ("__init__", "__new__", "__init_subclass__", "__set_name__")


@dataclass(frozen=True)
class Purity:
    """`pure`: True where all that the function uses is known to keep no state,
    False where it is seen to keep some, None where nobody can tell. `opens`: it
    opens files, and one of them may be a pipe."""

    pure: bool | None
    reasons: tuple[str, ...] = ()
    opens: bool = False


def purity(func: Callable[..., Any]) -> Purity:
    """Does `func` give the same for the same arguments, and change nothing?"""
    judge = _Judge()
    judge.routine(func, getattr(func, "__name__", type(func).__name__))
    if judge.seen:
        return Purity(False, tuple(dict.fromkeys(judge.seen)), judge.opens)
    if judge.doubts:
        return Purity(None, tuple(dict.fromkeys(judge.doubts)), judge.opens)
    return Purity(True, opens=judge.opens)


class _Judge(Judge):
    """Goes on after a doubt: there may be worse."""

    def __init__(self) -> None:
        super().__init__()
        self.walker = _Walker
        self.seen: list[str] = []
        self.doubts: list[str] = []
        self.opens = False
        self._items = _MOST_ITEMS

    def refuse(self, doing: str) -> None:
        self.doubts.append(self._with_who(doing))

    def accuse(self, doing: str) -> None:
        self.seen.append(self._with_who(doing))

    def _with_who(self, doing: str) -> str:
        return f"{self.at.who if self.at is not None else 'it'} {doing}"

    def walk(self, function: Any, me: Any) -> None:
        if len(self._done) > _MOST_FUNCTIONS:
            self.refuse("calls very many functions")
        else:
            super().walk(function, me)

    # ------------------------------------------------------- what may be called

    def routine(self, value: Any, said: str) -> None:
        """Whatever can be called: it may be, once it is at hand."""
        value = without_tensorflow(value)
        owner = getattr(value, "__self__", None)
        if isinstance(value, functools.partial):
            self.routine(value.func, said)
            for each in (*value.args, *value.keywords.values()):
                self.value(each, f"{said}, an argument of partial")
        elif isinstance(value, functools._lru_cache_wrapper):
            self.routine(value.__wrapped__, said)
        elif type(value) is np.vectorize:
            self.routine(value.pyfunc, said)
        elif _draws(value):
            self.accuse(f"uses {said}, which draws random numbers")
        elif isinstance(value, types.MethodType) and is_user(value):
            self.function(value.__func__, owner)
        elif isinstance(value, types.FunctionType) and is_user(value):
            self.function(value)
        elif python.may_call(value) or tensorflow.computes(value):
            self.opens |= python.reads_files(value)
        elif python.is_of_opencv(value):
            pass  # who calls it with an array to write into is refused for that
        elif owner is not None and not inspect.ismodule(owner):
            self.value(owner, said)
            if value.__name__ not in python.METHODS:
                self.refuse(f"uses {said}, which may change things")
        elif not inspect.isroutine(value):
            call = inspect.getattr_static(type(value), "__call__", None)
            if isinstance(call, types.FunctionType) and is_user(call):
                self.function(call, value)
            else:
                self._unknown(value, said)
        elif value in (builtins.globals, builtins.input, builtins.setattr, next):
            depends = "which depends on more than arguments"
            self.accuse(f"uses {said}, {depends}")
        else:
            self._unknown(value, said)

    def _unknown(self, value: Any, said: str) -> None:
        plain = inspect.isroutine(value) or inspect.isclass(value) or callable(value)
        kind = "" if plain else f"a {type(value).__name__} "
        self.refuse(f"uses {said}, {kind}of which little is known")

    # ---------------------------------------------------------- what is at hand

    def value(self, value: Any, said: str) -> None:
        """In whatever way it is used."""
        if isinstance(value, Unknown) or type(value) in python.NEVER_CHANGING:
            return
        if isinstance(value, np.generic) or _is_array(value) or _is_tensor(value):
            return
        if type(value) in python.CONTAINERS or _is_plain_tuple(type(value)):
            self._container(value, said)
        elif issubclass(type(value), io.IOBase):  # `isinstance` would ask the object
            self.accuse(f"uses {said}, which is open")
        elif _is_source_of_chance(value):
            self.accuse(f"uses {said}, which draws random numbers in turn")
        elif hasattr(type(value), "__next__"):
            self.accuse(f"uses {said}, an iterator that is used up")
        elif inspect.ismodule(value):
            if not python.may_name(value):
                self.refuse(f"uses {said}, a module of which little is known")
        elif inspect.isclass(value):
            if not python.may_make(value) and not _is_plain_tuple(value):
                self._unknown(value, said)
        elif isinstance(value, enum.Enum) and not has_users_code(type(value)):
            return
        elif not callable(value):
            self._unknown(value, said)
        else:
            self.routine(value, said)
            if is_users_object(value):
                self._in_other_hands(value)

    def _in_other_hands(self, value: Any) -> None:
        """Whoever is given an object may add it, ask for its length or call those of
        its methods that are named as harmless ones of others."""
        for _, name, function, _ in users_code(type(value)):
            special = name.startswith("__") and name not in _MAKING
            if special or name in python.METHODS | python.ATTRIBUTES:
                self.function(function, value)

    def _container(self, value: Any, said: str) -> None:
        if not self.is_new(value):
            return
        self._items -= len(value)
        if self._items < 0:
            self.refuse(f"uses {said}, which is very large")
            return
        mapping = isinstance(value, dict | types.MappingProxyType)
        for each in (*value.keys(), *value.values()) if mapping else value:
            if type(each) not in python.NEVER_CHANGING:
                self.value(each, f"what {said} holds")


class _Walker(Walker):
    known = (
        *Walker.known,
        ast.Try,
        ast.Import,
        ast.ImportFrom,
        ast.Yield,
        ast.YieldFrom,
    )

    def is_own(self, node: ast.expr) -> bool:
        return super().is_own(node) or is_made(node, self.function)

    def changes(self, node: ast.AugAssign) -> bool:
        return not self.is_own(node.target)

    def subscript(self, node: ast.Subscript) -> None:
        base = self.resolve(node.value)
        if is_users_object(base):
            self._special(base, "__getitem__", ast.unparse(node))
            self.visit(node.slice)
        else:
            super().subscript(node)

    def _special(self, value: Any, name: str, said: str) -> None:
        method = inspect.getattr_static(type(value), name, None)
        if isinstance(method, types.FunctionType) and is_user(method):
            self.judge.function(method, value)
        else:
            self.refuse(f"uses {said}")

    def call(self, node: ast.Call) -> None:
        called = self.resolve(node.func)
        given: list[ast.expr] = [*node.args, *(k.value for k in node.keywords)]
        if called is builtins.open:
            self.judge.opens = True
            if not only_reads(node):
                self.refuse(f"opens a file to write: {ast.unparse(node)[:40]}")
        elif called in (builtins.isinstance, builtins.issubclass):
            given = given[:1]
        elif called is builtins.len and len(given) == 1:
            held = self.resolve(given[0])
            if is_users_object(held):
                self._special(held, "__len__", ast.unparse(node))
                given = []
        elif called is builtins.type and len(given) == 1:
            pass
        elif is_users_object(called):
            self.judge.routine(called, ast.unparse(node.func))
        else:
            self.visit(node.func)
        self._written(node, called)
        self.all(given)

    def _written(self, node: ast.Call, called: Any) -> None:
        """Arguments that the function called writes into must be its caller's own."""
        start = python.writes_from(called)
        written = [*node.args[start:]] if start is not None else []
        if start is not None and any(isinstance(a, ast.Starred) for a in node.args):
            written = list(node.args)
        written += [k.value for k in node.keywords if k.arg in python.WRITTEN]
        for each in written:
            nothing = isinstance(each, ast.Constant) and each.value is None
            if not nothing and not self.is_own(each):
                self.refuse(f"writes into {ast.unparse(each)}")

    def attribute(self, node: ast.Attribute) -> None:
        said = ast.unparse(node)
        if not isinstance(node.ctx, ast.Load):
            self.refuse(f"sets {said}")
            return
        base = self.resolve(node.value)
        if inspect.ismodule(base) or inspect.isclass(base) or is_users_object(base):
            self._before(node.value)
            value = self.resolve(node)
            if value is UNKNOWN or is_users_object(value):
                self.refuse(f"uses {said}, of which little is known")
            else:
                self.judge.value(value, said)
            return
        self.visit(node.value)
        if node.attr in python.METHODS | python.ATTRIBUTES:
            return
        if node.attr in python.PATHS_READ:
            self.judge.opens = True
        elif node.attr not in CHANGING or not self.is_own(node.value):
            self.refuse(f"uses {said}, which may change things")

    def _before(self, node: ast.expr) -> None:
        """What stands before the last dot: a module, a class, an object."""
        if isinstance(node, ast.Attribute):
            self._before(node.value)
        elif not isinstance(node, ast.Name):
            self.visit(node)
        held = self.resolve(node)
        if inspect.ismodule(held):
            self.judge.value(held, ast.unparse(node))

    # -------------------------------------------------------- what names hold

    def is_opaque(self, base: Any) -> bool:
        reads = inspect.getattr_static(type(base), "__getattribute__")
        return isinstance(reads, types.FunctionType) or not is_users_object(base)

    def of_class(self, kind: type, name: str) -> Any:
        if issubclass(kind, enum.Enum):
            return kind._member_map_.get(name, UNKNOWN)
        static = inspect.getattr_static(kind, name, UNKNOWN)
        function = getattr(static, "__func__", None)
        if isinstance(static, staticmethod):
            return function
        if isinstance(static, classmethod) and isinstance(function, types.FunctionType):
            return types.MethodType(function, kind)
        if type(kind) is not type or isinstance(static, property):
            return UNKNOWN
        if isinstance(static, types.FunctionType) or not hasattr(
            type(static), "__get__"
        ):
            return static
        known = name in python.METHODS or name == "fromkeys"
        # `str.lower`, `dict.fromkeys`: as harmless as `len`.
        return len if kind.__module__ == "builtins" and known else UNKNOWN

    def of_kind(self, base: Any, static: Any, name: str) -> Any:
        if isinstance(static, types.MemberDescriptorType):
            return getattr(base, name, UNKNOWN)
        if isinstance(static, staticmethod):
            return static.__func__
        return UNKNOWN if hasattr(type(static), "__get__") else static


def _is_plain_tuple(kind: Any) -> bool:
    """A named tuple to which the user has added no method."""
    return (
        inspect.isclass(kind)
        and kind.__bases__ == (tuple,)
        and hasattr(kind, "_fields")
        and not has_users_code(kind)
    )


def _is_array(value: Any) -> bool:
    return type(value) is np.ndarray and value.dtype != object


def _is_tensor(value: Any) -> bool:
    """One that has a value, or the type of one: neither ever changes."""
    kind = type(value)
    return kind.__name__ in ("EagerTensor", "DType") and kind.__module__.startswith(
        "tensorflow."
    )


def _draws(value: Any) -> bool:
    """`default_rng(3)` draws nothing yet; whether it has a seed cannot be seen."""
    if isinstance(value, type) or not callable(value):
        return False
    owner = getattr(value, "__self__", None)
    named = getattr(value, "__module__", None)
    home = named if isinstance(named, str) else type(value).__module__
    home = owner.__name__ if inspect.ismodule(owner) else home
    chance = any(home == each or home.startswith(f"{each}.") for each in _DRAWING)
    return _is_source_of_chance(owner) or (
        chance and python.name_of(value) != "default_rng"
    )


def _is_source_of_chance(value: Any) -> bool:
    if inspect.isclass(value) or inspect.isroutine(value) or inspect.ismodule(value):
        return False
    kind = type(value)
    return issubclass(kind, random.Random) or kind.__module__.startswith("numpy.random")
