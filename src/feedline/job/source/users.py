"""Who wrote it: the user, or a library?"""

from __future__ import annotations

import enum
import functools
import inspect
import types
import weakref
from collections.abc import Iterator
from typing import Any

from feedline.job.private import tensorflow as tf_private
from feedline.job.source.known_python import NAMESPACES
from feedline.job.source.known_tensorflow import ROOTS
from feedline.job.source.lines import is_library

instead_of: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
"""Functions of the user's that were led elsewhere, and what they were."""


def is_users(function: Any) -> bool:
    """Is it a function, or a method, of the user's?"""
    function = getattr(function, "__func__", function)
    if not isinstance(function, types.FunctionType):
        return False
    function = instead_of.get(function, function)
    return not is_library(function.__code__.co_filename)


def is_user(value: Any) -> bool:
    """The same of whatever can be called: objects as well."""
    code = getattr(getattr(value, "__func__", value), "__code__", None)
    if code is None:
        call = inspect.getattr_static(type(value), "__call__", None)
        code = getattr(call, "__code__", None)
    return code is not None and not is_library(code.co_filename)


def is_users_class(kind: type) -> bool:
    """Has the user written anything in this very class?"""
    return any(is_users(function_in(member)) for member in vars(kind).values())


def is_users_object(value: Any) -> bool:
    """An object, not a class, whose class the user wrote, or that only holds
    attributes."""
    if inspect.isclass(value) or inspect.isroutine(value):
        return False
    kind = type(value)
    if f"{kind.__module__}.{kind.__qualname__}" in NAMESPACES:
        return True
    # What a cached property or a `tf.function` alone makes the user's stays unknown.
    return not isinstance(value, enum.Enum) and any(
        not isinstance(member, functools.cached_property) and not is_graph(member)
        for *_, member in users_code(kind)
    )


def has_users_code(kind: type) -> bool:
    """In the class or in those above it."""
    return next(users_code(kind), None) is not None


def users_code(kind: type) -> Iterator[tuple[type, str, Any, Any]]:
    """What the user wrote in a class and those above it: where, the name, the function
    and what is kept under that name."""
    for each in kind.__mro__:
        for name, member in list(vars(each).items()):
            function = function_in(member)
            if isinstance(function, types.FunctionType) and is_users(function):
                yield each, name, function, member


def function_in(member: Any) -> Any:
    """Of a property, a static method, a `tf.function`; else the member itself."""
    if isinstance(member, property):
        return member.fget
    if isinstance(member, functools.cached_property):
        return member.func
    if is_graph(member):
        return getattr(member.python_function, "__func__", member.python_function)
    return getattr(member, "__func__", member)


def is_graph(value: Any) -> bool:
    """Is it a `tf.function`?"""
    kind = type(value)
    if kind.__module__ == "builtins" or not is_tensorflow(kind):
        return False
    return inspect.getattr_static(value, "python_function", None) is not None


def is_tensorflow(kind: type) -> bool:
    """Is it a class of TensorFlow's or Keras', or one made from such?"""
    return any(map(is_theirs, kind.__mro__))


def is_theirs(kind: type) -> bool:
    return str(getattr(kind, "__module__", "")).partition(".")[0] in ROOTS


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
