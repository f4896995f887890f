"""Does a Python function of the user's give the same for the same arguments, and change
nothing? Judged by its source; nothing is run.

A closed world: every statement, name, call, method and attribute in the function, and
in the user's functions that it uses, must be of a kind that is known to compute
(`pure_library.py`). What is not known is a doubt, and a doubt is not `pure`. This works
because whatever a function can get hold of is either named in it, and looked at, or
made by something that is: so the unknown values in it are the libraries' own, of which
only listed methods may be called. What a function makes for itself it may change
(`fresh_values.py`). Files that are read count as part of the data.
"""

from __future__ import annotations

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

from feedline.job.private import tensorflow as tf_private
from feedline.job.source import pure_library as library
from feedline.job.source.definitions import definition_of
from feedline.job.source.lines import is_library

_MOST_FUNCTIONS = 200
_MOST_ITEMS = 1_000_000
_DRAWING = ("random", "numpy.random", "secrets", "uuid")


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
    judge = Judge()
    judge.routine(func, getattr(func, "__name__", type(func).__name__))
    if judge.seen:
        return Purity(False, tuple(dict.fromkeys(judge.seen)), judge.opens)
    if judge.doubts:
        return Purity(None, tuple(dict.fromkeys(judge.doubts)), judge.opens)
    return Purity(True, opens=judge.opens)


def is_user(value: Any) -> bool:
    """Is it Python that the user wrote, and not a library's?"""
    code = getattr(getattr(value, "__func__", value), "__code__", None)
    if code is None:
        call = inspect.getattr_static(type(value), "__call__", None)
        code = getattr(call, "__code__", None)
    return code is not None and not is_library(code.co_filename)


class Data:
    """A value that only running the function would tell: an argument, a result."""


DATA = Data()


class Judge:
    def __init__(self) -> None:
        self.seen: list[str] = []
        self.doubts: list[str] = []
        self.opens = False
        self._done: dict[tuple[int, int], Any] = {}  # held on to: an `id` stays taken
        self._items = _MOST_ITEMS

    def _is_new(self, one: Any, me: Any = None) -> bool:
        key = (id(one), id(me))
        if key in self._done:
            return False
        self._done[key] = (one, me)
        return True

    # ------------------------------------------------------- what may be called

    def routine(self, value: Any, said: str) -> None:
        """Whatever can be called: it may be, once it is at hand."""
        value = without_tensorflow(value)
        if isinstance(value, functools.partial):
            self.routine(value.func, said)
            for each in (*value.args, *value.keywords.values()):
                self.value(each, f"{said}, an argument of partial")
            return
        if isinstance(value, functools._lru_cache_wrapper):
            self.routine(value.__wrapped__, said)
            return
        if type(value) is np.vectorize:
            self.routine(value.pyfunc, said)
            return
        owner = getattr(value, "__self__", None)
        if _draws(value):
            self.seen.append(f"{said}, which draws random numbers")
        elif isinstance(value, types.MethodType) and is_user(value):
            self.function(value.__func__, owner)
        elif isinstance(value, types.FunctionType) and is_user(value):
            self.function(value)
        elif library.is_pure_function(value):
            self.opens |= library.reads_files(value)
        elif library.is_of_opencv(value):
            pass  # who calls it with an array to write into is refused for that
        elif owner is not None and not inspect.ismodule(owner):
            self.value(owner, said)
            if value.__name__ not in library.METHODS:
                self.doubts.append(f"{said}, which may change things")
        elif inspect.isroutine(value):
            self._unlisted(value, said)
        else:
            self._callable_object(value, said)

    def _unlisted(self, value: Any, said: str) -> None:
        if value in (builtins.globals, builtins.input, builtins.setattr, builtins.next):
            self.seen.append(f"{said}, which depends on more than arguments")
        else:
            self.doubts.append(f"{said}, of which little is known")

    def _callable_object(self, value: Any, said: str) -> None:
        call = inspect.getattr_static(type(value), "__call__", None)
        if isinstance(call, types.FunctionType) and is_user(call):
            self.function(call, value)
        else:
            self.doubts.append(f"{said}, of which little is known")

    def function(self, function: Any, me: Any = None) -> None:
        if not self._is_new(function, me):
            return
        if len(self._done) > _MOST_FUNCTIONS:
            self.doubts.append("it calls very many functions")
            return
        from feedline.job.source.pure_body import Body

        source = definition_of(function.__code__)
        if source is None:
            name = function.__name__
            self.doubts.append(f"{name}, whose source is not at hand or has changed")
            return
        Body(self, function, source, me).read()

    # ---------------------------------------------------------- what is at hand

    def value(self, value: Any, said: str) -> None:
        """Something that a function has at hand, in whatever way it uses it."""
        if isinstance(value, Data) or type(value) in library.PLAIN:
            return
        if isinstance(value, np.generic) or _is_array(value) or _is_tensor(value):
            return
        if type(value) in library.CONTAINERS or _is_plain_tuple(type(value)):
            self._container(value, said)
        elif isinstance(value, io.IOBase):
            self.seen.append(f"{said}, which is open")
        elif _is_source_of_chance(value):
            self.seen.append(f"{said}, which draws random numbers in turn")
        elif hasattr(type(value), "__next__"):
            self.seen.append(f"{said}, an iterator that is used up")
        elif inspect.ismodule(value):
            if not library.is_module(value):
                self.doubts.append(f"{said}, a module of which little is known")
        elif inspect.isclass(value):
            if not library.is_pure_class(value) and not _is_plain_tuple(value):
                self.doubts.append(f"{said}, of which little is known")
        elif isinstance(value, enum.Enum) and not _has_user_code(type(value)):
            return
        elif inspect.isroutine(value) or callable(value):
            self.routine(value, said)
        else:
            kind = type(value).__name__
            self.doubts.append(f"{said}, a {kind} of which little is known")

    def _container(self, value: Any, said: str) -> None:
        if not self._is_new(value):
            return
        self._items -= len(value)
        if self._items < 0:
            self.doubts.append(f"{said}, which is very large")
            return
        mapping = isinstance(value, dict | types.MappingProxyType)
        for each in (*value.keys(), *value.values()) if mapping else value:
            if type(each) not in library.PLAIN:
                self.value(each, f"what {said} holds")


def without_tensorflow(value: Any) -> Any:
    """Without what TensorFlow puts around it; decorators of the user's are his."""
    while isinstance(value, types.FunctionType):
        module = str(value.__globals__.get("__name__", ""))
        if not module.startswith("tensorflow."):
            return value
        inner = getattr(tf_private.tf_decorator.get(value), "decorated_target", None)
        inner = inner if inner is not None else getattr(value, "__wrapped__", None)
        if inner is None or inner is value:
            return value
        value = inner
    return value


def is_users_object(value: Any) -> bool:
    """An object, not a class, whose class the user wrote, or that only holds
    attributes."""
    if isinstance(value, Data) or inspect.isclass(value) or inspect.isroutine(value):
        return False
    kind = type(value)
    if f"{kind.__module__}.{kind.__qualname__}" in library.NAMESPACES:
        return True
    return not isinstance(value, enum.Enum) and _has_user_code(kind)


def _has_user_code(kind: type) -> bool:
    for each in kind.__mro__:
        for member in vars(each).values():
            function = getattr(member, "fget", getattr(member, "__func__", member))
            if isinstance(function, types.FunctionType) and is_user(function):
                return True
    return False


def _is_plain_tuple(kind: Any) -> bool:
    """A named tuple to which the user has added no method."""
    return (
        inspect.isclass(kind)
        and kind.__bases__ == (tuple,)
        and hasattr(kind, "_fields")
        and not _has_user_code(kind)
    )


def _is_array(value: Any) -> bool:
    return type(value) is np.ndarray and value.dtype != object


def _is_tensor(value: Any) -> bool:
    """One that has a value, or the type of one: neither ever changes."""
    kind = type(value)
    return kind.__name__ in ("EagerTensor", "DType") and kind.__module__.startswith(
        "tensorflow."
    )


def _module(value: Any) -> str:
    owner = getattr(value, "__self__", None)
    if inspect.ismodule(owner):
        return owner.__name__
    named = getattr(value, "__module__", None)
    return named if isinstance(named, str) else type(value).__module__


def _draws(value: Any) -> bool:
    if isinstance(value, type) or not callable(value):
        return False
    home = _module(value)
    chance = any(home == each or home.startswith(f"{each}.") for each in _DRAWING)
    return _is_source_of_chance(getattr(value, "__self__", None)) or (
        chance and not _seeds_itself(value)
    )


def _seeds_itself(value: Any) -> bool:
    """`default_rng(3)` draws nothing yet; whether it has a seed cannot be seen."""
    return getattr(value, "__name__", "") == "default_rng"


def _is_source_of_chance(value: Any) -> bool:
    if value is None or inspect.isclass(value) or inspect.isroutine(value):
        return False
    if inspect.ismodule(value):
        return False
    return isinstance(value, random.Random) or type(value).__module__.startswith(
        "numpy.random"
    )
