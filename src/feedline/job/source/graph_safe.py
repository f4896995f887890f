"""May a function of the user's run as a graph, and keeps it nothing but variables?
Judged by its source (`walker.py`).

A graph keeps what Python did while it was traced: what is printed would be heard
once, and a number that the script changes later would stay as it was. So every
statement and every name in the function, and in the user's functions and layers that
it uses, must be of a kind that is known to mean the same in a graph and to keep nothing
in Python (`known_tensorflow.py`); anything else is a reason to leave it alone. What a
name holds is noted (`dependencies.py`).

Which of the user's methods run? Those that a library may call, because they stand for
one of its own, and those whose names stand anywhere in what runs. How a function is
read is in `graph_walker.py`.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
import types
from collections.abc import Iterable
from typing import Any

from feedline.job.loops.loop import CannotRun
from feedline.job.private import keras as keras_private
from feedline.job.source import known_tensorflow as tensorflow
from feedline.job.source import watched
from feedline.job.source.dependencies import Dependency, contents
from feedline.job.source.graph_walker import GraphWalker
from feedline.job.source.known_python import PLAIN, words
from feedline.job.source.known_tensorflow import keeps_only_variables
from feedline.job.source.users import (
    instead_of,
    is_graph,
    is_theirs,
    is_users,
    is_users_class,
    users_code,
)
from feedline.job.source.walker import Judge, Unknown

# Methods of models and layers that no training step runs.
_NOT_IN_STEPS = words("""
    __init__ __new__ __init_subclass__ __repr__ __str__ __del__ __reduce__ __getstate__
    __setstate__ __deepcopy__ build compile get_config from_config get_build_config
    build_from_config get_compile_config compile_from_config test_step predict_step
    make_test_function make_predict_function fit evaluate predict test_on_batch
    predict_on_batch train_on_batch summary save save_weights load_weights
    save_own_variables load_own_variables save_assets load_assets export count_params
""")


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


class Look(Judge):
    """Stops at the first reason. `graph`: what it goes through is to run as a graph,
    where Python ran it before."""

    walker = GraphWalker

    def __init__(self, *, graph: bool) -> None:
        super().__init__()
        self.graph = graph
        self._named: set[str] = set()
        self._methods: dict[str, list[tuple[Any, Any]]] = {}
        self._called: dict[str, str] = {}

    def refuse(self, doing: str) -> None:
        raise CannotRun(self._placed(doing))

    def _placed(self, doing: str) -> str:
        """With who does it and where."""
        if self.at is None:
            return doing
        name = os.path.basename(self.at.function.__code__.co_filename)
        return f"{self.at.who} {doing} ({name}:{self.at.line})"

    def walk(self, function: Any, me: Any) -> None:
        super().walk(instead_of.get(function, function), me)

    def named(self, name: str) -> None:
        """This name stands after a dot in what runs: methods of that name may run."""
        if name not in self._named:
            self._named.add(name)
            for function, me in self._methods.get(name, ()):
                self.function(function, me)

    def called(self, name: str) -> None:
        """A method of something that only running the step would tell."""
        self.named(name)
        if name not in tensorflow.METHODS:
            doing = f"calls .{name}(), which may do anything"
            self._called.setdefault(name, self._placed(doing))

    def finish(self) -> None:
        """All methods that were called must be known."""
        for name, reason in self._called.items():
            if name not in self._methods:
                raise CannotRun(reason)

    def value(self, value: Any, said: str, *, made: bool = True) -> None:
        """`made`: where it is a class, objects of it may be made."""
        if isinstance(value, Unknown) or type(value) in PLAIN:
            return
        if inspect.ismodule(value):
            if not tensorflow.may_name(value):
                self.refuse(f"uses the module {said}")
        elif type(value) is tuple or (
            isinstance(value, tuple) and hasattr(value, "_fields")
        ):
            for each in value:
                self.value(each, said)
        elif tensorflow.is_container(value):
            self._container(value, said)
        elif inspect.isclass(value):
            if made and not tensorflow.may_make(value):
                self.refuse(f"makes objects of {said}")
        elif is_graph(value):
            self._graph(value, said)
        elif inspect.isroutine(value) or tensorflow.may_call(value):
            self._routine(value, said)
        elif keeps_only_variables(type(value)):
            self.object(value)
        elif not _is_scalar(value):
            self.refuse(f"uses {said}, a {type(value).__name__}")

    def _container(self, value: Any, said: str) -> None:
        """It may be read: who may change it is refused for that."""
        self.hold(value, None, contents(value), said)
        for each in contents(value):
            if isinstance(each, list | dict | set):
                self.refuse(f"uses {said}, a {type(value).__name__} of containers")
            self.value(each, said)

    def _graph(self, value: Any, said: str) -> None:
        """A `tf.function`: its Python runs when it is traced, now or once more."""
        function = getattr(value, "python_function", None)
        function = getattr(function, "__func__", function)
        if isinstance(function, types.FunctionType) and is_users(function):
            self.function(function, getattr(value.python_function, "__self__", None))
        elif function is not None and not isinstance(function, types.FunctionType):
            self.refuse(f"calls {said}, whose source is not at hand")

    def _routine(self, value: Any, said: str) -> None:
        owner = getattr(value, "__self__", None)
        if is_users(value):
            me = None if inspect.ismodule(owner) or inspect.isclass(owner) else owner
            self.function(getattr(value, "__func__", value), me)
        elif not tensorflow.may_call(value):
            known = inspect.isclass(owner) and tensorflow.is_known_class(owner)
            if keeps_only_variables(type(owner)):
                known = True
                self.object(owner)
            if not known or value.__name__ not in tensorflow.METHODS:
                self.refuse(f"calls {said}()")

    def object(self, value: Any) -> None:
        """One of TensorFlow's or Keras', or of a class of the user's: what the user
        wrote in it counts, and what he may switch in it."""
        if not self.is_new(value) or is_graph(value) or _is_variable(value):
            return
        parts = [value]
        flatten = inspect.getattr_static(
            type(value), keras_private.flatten_layers.name, None
        )
        if flatten is not None and not is_users(flatten):
            parts = list(keras_private.flatten_layers(value)())
        for part in parts:
            self.is_new(part)
            self._switches(part)
            self._user_methods(part)
            self._inside(part)

    def _switches(self, part: Any) -> None:
        inside = getattr(part, "__dict__", {})
        if self.graph and inside.get(keras_private.losses.name):
            self.refuse("has a layer that adds to the loss: the script may read it")
        known = keeps_only_variables(type(part))
        for name, held in list(inside.items()):
            if not watched.is_held(part, name):
                continue
            switch = not name.startswith("_") and type(held) in PLAIN
            if switch or name in watched.HELD or not known:
                said = f"{type(part).__name__}.{name.lstrip('_')}"
                self.hold(inside, name, held, said)

    def _user_methods(self, part: Any) -> None:
        for owner, name, function, member in users_code(type(part)):
            if isinstance(member, functools.cached_property):
                self.refuse(f"has {owner.__name__}.{name}, a cached property")
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
            self.refuse(f"calls {said}, a {type(held).__name__}")


def _may_be_called(kind: type, owner: type, name: str) -> bool:
    """Without being named: it stands for one of a library's, or is Python's own."""
    if name.startswith("__") and name.endswith("__"):
        return True
    return is_theirs(owner) or any(
        is_theirs(base) and name in vars(base) for base in kind.__mro__
    )


def _is_scalar(value: Any) -> bool:
    import numpy as np

    return type(value).__module__ == "numpy" and isinstance(value, np.generic)


def _is_variable(value: Any) -> bool:
    import tensorflow as tf

    return isinstance(value, tf.Variable) or is_keras_variable(value)


def is_keras_variable(value: Any) -> bool:
    keras = sys.modules.get("keras")
    return keras is not None and isinstance(value, keras.Variable)
