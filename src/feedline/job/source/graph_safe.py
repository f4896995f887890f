"""May a function of the user's run as a graph, and keeps it nothing but variables?
Judged by its source.

A graph keeps what Python did while it was traced: what is printed would be heard
once, and a number that the script changes later would stay as it was. So every
statement and every name in the function, and in the user's functions and layers that
it uses (`statements.py`), must be of a kind that is known to mean the same in a graph
and to keep nothing in Python (`allowed.py`); anything else is a reason to leave it
alone. What a name holds is noted (`dependencies.py`).

Which of the user's methods run? Those that a library may call, because they stand for
one of its own, and those whose names stand anywhere in what runs.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

from feedline.job.loops.loop import CannotRun
from feedline.job.private import keras as keras_private
from feedline.job.source import allowed, watched
from feedline.job.source.allowed import keeps_only_variables
from feedline.job.source.dependencies import Dependency, contents
from feedline.job.source.lines import is_library

PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), slice, range)
_ROOTS = ("tensorflow", "keras", "tf_keras")
# Methods of models and layers that no training step runs.
_NOT_IN_STEPS = {
    *("__init__", "__new__", "__init_subclass__", "__repr__", "__str__", "__del__"),
    *("__reduce__", "__getstate__", "__setstate__", "__deepcopy__", "build", "compile"),
    *("get_config", "from_config", "get_build_config", "build_from_config"),
    *("get_compile_config", "compile_from_config", "test_step", "predict_step"),
    *("make_test_function", "make_predict_function", "fit", "evaluate", "predict"),
    *("test_on_batch", "predict_on_batch", "train_on_batch", "summary", "save"),
    *("save_weights", "load_weights", "save_own_variables", "load_own_variables"),
    *("save_assets", "load_assets", "export", "count_params"),
}

instead_of: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
"""Functions of the user's that were led elsewhere, and what they were."""


def dependencies_of(
    function: Any, me: Any = None, given: Iterable[Any] = ()
) -> tuple[Dependency, ...]:
    """What the function depends on besides the values of its arguments; raises
    `CannotRun` with the reason where it may mean something else as a graph. `me` is
    the object whose method it is, `given` are objects among its arguments."""
    look = Look(graph=True)
    look.function(function, me)
    for each in given:
        look.object(each)
    look.finish()
    return tuple(look.held.values())


def dependencies_of_model(model: Any) -> tuple[Dependency, ...]:
    """The same for all that a compiled Keras model does in a step of `fit`: none of it
    keeps anything but variables, prints, or draws in Python."""
    return tuple(_look_at(model).held.values())


def _look_at(model: Any) -> Look:
    """Nothing of the user's is run: his `metrics` may do anything."""
    look = Look(graph=False)
    look.object(model)
    own = vars(model)
    for name in ("optimizer", *keras_private.COMPILED):
        if own.get(name) is not None:
            look.value(own[name], f"{type(model).__name__}.{name.lstrip('_')}")
    for metric in own.get(keras_private.metrics.name, ()):
        look.object(metric)
    look.content(own.get("loss"), "a loss")
    look.content(own.get(keras_private.compile_loss.name), "a loss")
    look.finish()
    return look


class _Unknown:
    """A value that only running the step would tell."""


UNKNOWN = _Unknown()
JUDGED = _Unknown()
"""A function of the user's, or what his property gives: its source was read."""


class Look:
    """Goes through functions and objects. `graph`: they are to run as a graph, where
    Python ran them before."""

    def __init__(self, *, graph: bool) -> None:
        self.graph = graph
        self.held: dict[tuple[int, Any], Dependency] = {}
        self._done: dict[tuple[int, int], Any] = {}  # held on to: an `id` stays taken
        self._named: set[str] = set()
        self._methods: dict[str, list[tuple[Any, Any]]] = {}
        self._called: dict[str, str] = {}

    def hold(self, there: Any, name: Any, value: Any, said: str) -> None:
        key = (id(there), name)
        if key not in self.held:
            self.held[key] = Dependency(there, name, value, said)

    def _is_new(self, one: Any, other: Any = None) -> bool:
        key = (id(one), id(other))
        if key in self._done:
            return False
        self._done[key] = (one, other)
        return True

    def function(self, function: Any, me: Any = None) -> None:
        from feedline.job.source.statements import Body

        if self._is_new(function, me):
            Body(self, instead_of.get(function, function), me).read()

    def named(self, name: str) -> None:
        """This name stands after a dot in what runs: methods of that name may run."""
        if name not in self._named:
            self._named.add(name)
            for function, me in self._methods.get(name, ()):
                self.function(function, me)

    def called(self, name: str, place: str) -> None:
        """A method of something that only running the step would tell."""
        self.named(name)
        if name not in allowed.METHODS:
            self._called.setdefault(name, place)

    def finish(self) -> None:
        """All methods that were called must be known."""
        for name, place in self._called.items():
            if name not in self._methods:
                doing = f"calls .{name}(), which may do anything"
                raise CannotRun(place.format(doing))

    def value(self, value: Any, said: str, *, made: bool = True) -> None:
        """Something that the function has at hand, `said` in its own words; `made`:
        where it is a class, objects of it may be made."""
        if isinstance(value, _Unknown) or type(value) in PLAIN:
            return
        if inspect.ismodule(value):
            if not allowed.is_library_module(value):
                raise CannotRun(f"uses the module {said}")
        elif type(value) is tuple or _is_named_tuple(value):
            for each in value:
                self.value(each, said)
        elif allowed.is_container(value):
            self._container(value, said)
        elif inspect.isclass(value):
            if made and not allowed.may_make(value):
                raise CannotRun(f"makes objects of {said}")
        elif is_graph(value):
            self._graph(value, said)
        elif inspect.isroutine(value) or allowed.may_call(value):
            self._routine(value, said)
        elif keeps_only_variables(type(value)):
            self.object(value)
        elif not _is_scalar(value):
            raise CannotRun(f"uses {said}, a {type(value).__name__}")

    def _container(self, value: Any, said: str) -> None:
        """It may be read: who may change it is refused for that."""
        self.hold(value, None, contents(value), said)
        for each in contents(value):
            if isinstance(each, list | dict | set):
                raise CannotRun(f"uses {said}, a {type(value).__name__} of containers")
            self.value(each, said)

    def _graph(self, value: Any, said: str) -> None:
        """A `tf.function`: its Python runs when it is traced, now or once more."""
        function = getattr(value, "python_function", None)
        function = getattr(function, "__func__", function)
        if isinstance(function, types.FunctionType) and is_users(function):
            self.function(function, getattr(value.python_function, "__self__", None))
        elif function is not None and not isinstance(function, types.FunctionType):
            raise CannotRun(f"calls {said}, whose source is not at hand")

    def _routine(self, value: Any, said: str) -> None:
        owner = getattr(value, "__self__", None)
        if is_users(value):
            me = None if inspect.ismodule(owner) or inspect.isclass(owner) else owner
            self.function(getattr(value, "__func__", value), me)
        elif allowed.may_call(value):
            return
        elif inspect.isclass(owner) and allowed.is_known_class(owner):
            if value.__name__ not in allowed.METHODS:
                raise CannotRun(f"calls {said}()")
        elif owner is not None and keeps_only_variables(type(owner)):
            self.object(owner)
            if value.__name__ not in allowed.METHODS:
                raise CannotRun(f"calls {said}()")
        else:
            raise CannotRun(f"calls {said}()")

    def object(self, value: Any) -> None:
        """One of TensorFlow's or Keras', or of a class of the user's: what the user
        wrote in it counts, and what he may switch in it."""
        if not self._is_new(value) or is_graph(value) or _is_variable(value):
            return
        parts = [value]
        flatten = inspect.getattr_static(
            type(value), keras_private.flatten_layers.name, None
        )
        if flatten is not None and not is_users(flatten):
            parts = list(keras_private.flatten_layers(value)())
        for part in parts:
            self._is_new(part)
            self._switches(part)
            self._user_methods(part)
            self._inside(part)

    def _switches(self, part: Any) -> None:
        inside = getattr(part, "__dict__", {})
        if self.graph and inside.get(keras_private.losses.name):
            raise CannotRun("has a layer that adds to the loss: the script may read it")
        known = keeps_only_variables(type(part))
        for name, held in list(inside.items()):
            if not watched.is_held(part, name):
                continue
            switch = not name.startswith("_") and type(held) in PLAIN
            if switch or name in watched.HELD or not known:
                said = f"{type(part).__name__}.{name.lstrip('_')}"
                self.hold(inside, name, held, said)

    def _user_methods(self, part: Any) -> None:
        for owner, name, function, member in _written(type(part)):
            self.hold(vars(owner), name, member, f"{owner.__name__}.{name}")
            if name in _NOT_IN_STEPS:
                continue
            self._methods.setdefault(name, []).append((function, part))
            if name in self._named or _may_be_called(type(part), owner, name):
                self.function(function, part)

    def _inside(self, part: Any) -> None:
        """What a library's object was given by the user: functions, losses, schedules.
        In an object of the user's own it must be named to be used, unless it stands
        for something of the library's."""
        theirs = not is_users_class(type(part))
        for name, held in list(getattr(part, "__dict__", {}).items()):
            shadows = inspect.getattr_static(type(part), name, None) is not None
            if theirs or shadows or keeps_only_variables(type(held)):
                self.content(held, f"{type(part).__name__}.{name}")

    def content(self, held: Any, said: str) -> None:
        """The user's functions and the objects in it; all else is the library's."""
        if isinstance(held, list | tuple | dict):
            for each in held.values() if isinstance(held, dict) else held:
                if not isinstance(each, list | tuple | dict):
                    self.content(each, said)
        elif isinstance(held, functools.partial):
            self.content(held.func, said)
        elif is_graph(held):
            self._graph(held, said)
        elif isinstance(held, types.FunctionType | types.MethodType):
            if is_users(held):
                self._routine(held, said)
        elif keeps_only_variables(type(held)):
            self.object(held)
        elif (
            callable(held) and not inspect.isclass(held) and is_users_class(type(held))
        ):
            raise CannotRun(f"calls {said}, a {type(held).__name__}")


def is_graph(value: Any) -> bool:
    """Is it a `tf.function`?"""
    return is_tensorflow(type(value)) and hasattr(value, "python_function")


def is_tensorflow(kind: type) -> bool:
    """Is it a class of TensorFlow's or Keras', or one made from such?"""
    return any(_is_theirs(each) for each in kind.__mro__)


def _is_theirs(kind: type) -> bool:
    return str(getattr(kind, "__module__", "")).partition(".")[0] in _ROOTS


def is_users(function: Any) -> bool:
    function = getattr(function, "__func__", function)
    if not isinstance(function, types.FunctionType):
        return False
    function = instead_of.get(function, function)
    return not is_library(function.__code__.co_filename)


def is_users_class(kind: type) -> bool:
    return any(is_users(_function_in(m)) for m in vars(kind).values())


def _function_in(member: Any) -> Any:
    """Of a property, a static method, a `tf.function`; else the member itself."""
    if isinstance(member, property):
        return member.fget
    if isinstance(member, functools.cached_property):
        return member.func
    if is_graph(member):
        return getattr(member.python_function, "__func__", member.python_function)
    return getattr(member, "__func__", member)


def _written(kind: type) -> Iterator[tuple[type, str, Any, Any]]:
    """What the user wrote in a class and those above it."""
    for each in kind.__mro__:
        for name, member in list(vars(each).items()):
            function = _function_in(member)
            if isinstance(function, types.FunctionType) and is_users(function):
                if isinstance(member, functools.cached_property):
                    raise CannotRun(f"has {each.__name__}.{name}, a cached property")
                yield each, name, function, member


def _may_be_called(kind: type, owner: type, name: str) -> bool:
    """Without being named: it stands for one of a library's, or is Python's own."""
    if name.startswith("__") and name.endswith("__"):
        return True
    return _is_theirs(owner) or any(
        _is_theirs(base) and name in vars(base) for base in kind.__mro__
    )


def _is_named_tuple(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _is_scalar(value: Any) -> bool:
    import numpy as np

    return type(value).__module__ == "numpy" and isinstance(value, np.generic)


def _is_variable(value: Any) -> bool:
    import tensorflow as tf

    return isinstance(value, tf.Variable) or is_keras_variable(value)


def is_keras_variable(value: Any) -> bool:
    keras = sys.modules.get("keras")
    return keras is not None and isinstance(value, keras.Variable)
