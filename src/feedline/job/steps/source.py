"""May a function of the user's run as a graph? Judged by its source.

A graph keeps what Python did while it was traced: what is printed would be heard
once, and a number that the script changes later would stay as it was. So every
statement and every name in the function, and in the user's functions and layers that
it uses, must be of a kind that means the same in a graph; anything else is a reason to
leave it alone. What a name holds is noted (`Held`): once the script has put something
else there, the graph is no longer the same.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import logging
import math
import types
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from feedline.job.changing import CHANGING
from feedline.job.datasets.functions import closure
from feedline.job.loop import CannotRun
from feedline.job.source import is_library
from feedline.job.steps.parts import sources
from feedline.job.workers.own import own_names, source_of

log = logging.getLogger(__name__)

_STATEMENTS = (
    *(ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.With, ast.Return),
    *(ast.If, ast.For, ast.Pass, ast.Break, ast.Continue, ast.FunctionDef),
)
_BUILTINS = {
    *("zip", "len", "range", "enumerate", "list", "tuple", "dict", "set", "sum"),
    *("min", "max", "abs", "isinstance", "reversed", "sorted", "any", "all", "map"),
    *("float", "int", "bool", "str", "super", "round", "True", "False", "None"),
}
# Of TensorFlow, but Python's business or not the same in a graph.
_EAGER_ONLY = {
    *("py_function", "numpy_function", "executing_eagerly", "run_functions_eagerly"),
    *("init_scope", "summary", "config", "profiler", "set_seed"),
}
_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_MADE_ONCE = ("__init__", "__new__", "build", "get_config", "from_config")
_ROOTS = ("tensorflow", "keras", "tf_keras")
_KERAS_SETS = ("stop_training", "steps_per_execution")

instead_of: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
"""Functions of the user's that were led elsewhere, and what they were."""


@dataclass(frozen=True, eq=False)
class Held:
    """A value that the function finds somewhere: in a module, a closure, an
    object. `there` is what has it, `name` under which name; `Held` itself stands for
    no value."""

    there: Any
    name: Any
    value: Any

    def is_same(self) -> bool:
        there = self.there
        if isinstance(there, types.CellType):
            return there.cell_contents is self.value
        if isinstance(there, list):
            return len(there) == len(self.value) and all(
                one is other for one, other in zip(there, self.value, strict=True)
            )
        return there.get(self.name, Held) is self.value


def held_by(
    function: Any, me: Any = None, given: Iterable[Any] = ()
) -> tuple[Held, ...]:
    """What the function depends on besides the values of its arguments; raises
    `CannotRun` with the reason where it may mean something else as a graph. `me` is
    the object whose method it is, `given` are objects among its arguments."""
    look = _Look()
    look.function(function, me)
    for each in given:
        look.object(each)
    return tuple(look.held.values())


def held_in_model(model: Any) -> tuple[Held, ...]:
    """The same for all that a compiled Keras model does in a step of `fit`."""
    import tensorflow as tf

    look = _Look()
    for part in (model, model.optimizer, *model.metrics):
        look.object(part)
    for loss in tf.nest.flatten(model.loss):
        look.value(loss, "a loss")
    own = vars(model)
    return tuple(
        held
        for held in look.held.values()
        if held.there is not own or held.name not in _KERAS_SETS
    )


def keeps_state(model: Any) -> bool:
    """May an eager step of `fit` keep or print something that nobody could put back?"""
    try:
        held_in_model(model)
    except CannotRun as reason:
        log.info("a step may keep state: %s", reason)
        return True
    return False


class _Unknown:
    """A value that only running the step would tell."""


_UNKNOWN = _Unknown()


class _Look:
    def __init__(self) -> None:
        self.held: dict[tuple[int, Any], Held] = {}
        self._done: set[tuple[int, int]] = set()

    def hold(self, there: Any, name: Any, value: Any) -> None:
        self.held[id(there), name] = Held(there, name, value)

    def function(self, function: Any, me: Any = None) -> None:
        key = (id(function), id(me))
        if key not in self._done:
            self._done.add(key)
            _Body(self, instead_of.get(function, function), me).read()

    def value(self, value: Any, said: str) -> None:
        """Something that the function has at hand, `said` in its own words."""
        if value is _UNKNOWN or isinstance(value, _PLAIN):
            return
        if inspect.ismodule(value):
            if value.__name__.partition(".")[0] not in (*_ROOTS, "math", "numpy"):
                raise CannotRun(f"it uses the module {said}")
        elif isinstance(value, tuple):
            for each in value:
                self.value(each, said)
        elif isinstance(value, list):
            if not value or not all(is_tensorflow(type(each)) for each in value):
                raise CannotRun(f"it uses {said}, a list that may change")
            self.hold(value, None, tuple(value))
            for each in value:
                self.object(each)
        elif inspect.isclass(value):
            if not _is_library_class(value):
                raise CannotRun(f"it makes objects of {said}")
        elif _is_graph(value):  # Python has had its say when it was traced
            return
        elif inspect.isroutine(value):
            self._routine(value, said)
        elif is_tensorflow(type(value)):
            self.object(value)
        else:
            raise CannotRun(f"it uses {said}, a {type(value).__name__}")

    def _routine(self, value: Any, said: str) -> None:
        owner = getattr(value, "__self__", None)
        if is_users(value):
            me = None if inspect.ismodule(owner) or inspect.isclass(owner) else owner
            self.function(getattr(value, "__func__", value), me)
            return
        name = getattr(value, "__name__", "")
        if getattr(builtins, name, None) is value:
            if name not in _BUILTINS:
                raise CannotRun(f"it calls {said}()")
        elif getattr(math, name, None) is value:
            return
        elif not str(getattr(value, "__module__", "")).startswith(_ROOTS):
            raise CannotRun(f"it calls {said}()")

    def object(self, value: Any) -> None:
        """One of TensorFlow's or Keras': what the user wrote in it counts, and what
        he may switch in it."""
        if (id(value), 0) in self._done:
            return
        self._done.add((id(value), 0))
        if _is_graph(value):
            return
        parts = [value]
        if hasattr(value, "_flatten_layers"):
            parts = list(value._flatten_layers())
        for part in parts:
            self._done.add((id(part), 0))
            inside = getattr(part, "__dict__", {})
            if inside.get("_losses"):
                raise CannotRun("a layer adds to the loss, and the script may read it")
            for name, held in list(inside.items()):
                switch = not name.startswith("_") and isinstance(held, _PLAIN)
                if switch or name in ("_trainable", "_learning_rate"):
                    self.hold(inside, name, held)
            schedule = inside.get("_learning_rate")
            if schedule is not None and is_tensorflow(type(schedule)):
                self.object(schedule)
            for method in _methods(type(part)):
                self.function(method, part)
            for held in list(inside.values()):
                if isinstance(held, types.FunctionType) and is_users(held):
                    self.function(held)


class _Body:
    """One function's source."""

    def __init__(self, look: _Look, function: Any, me: Any) -> None:
        self.look = look
        self.me = me
        self.name = getattr(function, "__name__", "the step")
        found = sources.get(self.name) or source_of(function)
        if found is None:
            raise CannotRun(f"the source of {self.name} is not at hand")
        self.source = found
        self.code = function.__code__
        self.globals = function.__globals__
        self.cells = dict(
            zip(self.code.co_freevars, function.__closure__ or (), strict=True)
        )
        self.inside = closure(function)
        self.own = own_names(found, function)
        first = found.args.posonlyargs + found.args.args
        self.self_name = first[0].arg if me is not None and first else ""
        self.local = {
            node.id
            for node in ast.walk(found)
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
        } | {node.arg for node in ast.walk(found) if isinstance(node, ast.arg)}
        self.local |= {
            node.name
            for node in ast.walk(found)
            if isinstance(node, ast.FunctionDef) and node is not found
        }

    def read(self) -> None:
        for statement in self.source.body:
            self._visit(statement)

    def _visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.stmt) and not isinstance(node, _STATEMENTS):
            raise CannotRun(f"{self.name} has a statement {ast.unparse(node)[:40]!r}")
        if isinstance(node, ast.Yield | ast.YieldFrom | ast.Await):
            raise CannotRun(f"{self.name} is a generator")
        if self._sets_foreign(node):
            raise CannotRun(f"{self.name} sets {ast.unparse(node)}")
        if isinstance(node, ast.Attribute):
            self._attribute(node)
            return
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            self.look.value(self._resolve(node), node.id)
        if isinstance(node, ast.FunctionDef):  # one of its own: not its decorators
            children: Iterator[ast.AST] = iter(node.body)
        else:
            children = ast.iter_child_nodes(node)
        for child in children:
            self._visit(child)

    def _sets_foreign(self, node: ast.AST) -> bool:
        """Does it set an attribute, or an item of what it did not make itself?"""
        if not isinstance(node, ast.Attribute | ast.Subscript):
            return False
        own = isinstance(node, ast.Subscript) and self._is_own(node.value)
        return not isinstance(node.ctx, ast.Load) and not own

    def _is_own(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self.own

    def _attribute(self, node: ast.Attribute) -> None:
        said = ast.unparse(node)
        base: ast.expr = node
        while isinstance(base, ast.Attribute):
            of_module = inspect.ismodule(self._resolve(base.value))
            if base.attr == "numpy" or (of_module and base.attr in _EAGER_ONLY):
                raise CannotRun(f"{self.name} uses {said}")
            base = base.value
        if not isinstance(base, ast.Name):
            self._visit(base)
        holder = self._resolve(node.value)
        known = inspect.ismodule(holder) or is_tensorflow(type(holder))
        if node.attr in CHANGING and not (known or self._is_own(node.value)):
            raise CannotRun(f"{self.name} may change {ast.unparse(node.value)}")
        self.look.value(self._resolve(node), said)
        if holder is not _UNKNOWN and is_tensorflow(type(holder)):
            self.look.object(holder)

    def _resolve(self, node: ast.expr) -> Any:
        """What this name or attribute holds now. What is found is held on to."""
        if isinstance(node, ast.Name):
            return self._named(node.id)
        if not isinstance(node, ast.Attribute):
            return _UNKNOWN
        base = self._resolve(node.value)
        if base is _UNKNOWN or isinstance(base, _PLAIN):
            return _UNKNOWN
        if inspect.ismodule(base) or inspect.isclass(base):
            return getattr(base, node.attr, _UNKNOWN)
        return self._of_object(base, node.attr)

    def _named(self, name: str) -> Any:
        if name == self.self_name:
            return self.me
        if name in self.inside:
            self.look.hold(self.cells[name], None, self.inside[name])
            return self.inside[name]
        if name in self.local:
            return _UNKNOWN
        if name in self.globals:
            value = self.globals[name]
            if not inspect.ismodule(value):
                self.look.hold(self.globals, name, value)
            return value
        if name in ("super", "__class__"):
            return _UNKNOWN
        return getattr(builtins, name, _UNKNOWN)

    def _of_object(self, base: Any, name: str) -> Any:
        """By its `__dict__`, so that nothing of the user's is run."""
        kind = type(base)
        static = inspect.getattr_static(kind, name, None)
        if isinstance(static, property):
            if static.fget is not None and is_users(static.fget):
                self.look.function(static.fget, base)
            elif not is_tensorflow(kind):
                raise CannotRun(f"{self.name} uses {name} of a {kind.__name__}")
            return _UNKNOWN
        inside = getattr(base, "__dict__", {})
        if name in inside and (is_users_class(kind) or not is_tensorflow(kind)):
            self.look.hold(inside, name, inside[name])
            return inside[name]
        if isinstance(static, types.FunctionType) and is_users(static):
            self.look.function(static, base)
            return _UNKNOWN
        if is_tensorflow(kind):
            return _UNKNOWN
        if isinstance(static, _PLAIN) and static is not None:
            owner = next(each for each in kind.__mro__ if name in vars(each))
            self.look.hold(vars(owner), name, static)
            self.look.hold(inside, name, Held)  # it has none of its own
            return static
        raise CannotRun(f"{self.name} uses .{name} of a {kind.__name__}")


def is_tensorflow(kind: type, *, own: bool = True) -> bool:
    """Is it a class of TensorFlow's or Keras', or with `own` one made from such?"""
    kinds = kind.__mro__ if own else (kind,)
    return any(
        str(getattr(each, "__module__", "")).partition(".")[0] in _ROOTS
        for each in kinds
    )


def _is_graph(value: Any) -> bool:
    """Is it a `tf.function`?"""
    return is_tensorflow(type(value)) and hasattr(value, "python_function")


def is_users(function: Any) -> bool:
    function = getattr(function, "__func__", function)
    if isinstance(function, types.FunctionType):
        function = instead_of.get(function, function)
    code = getattr(function, "__code__", None)
    return code is not None and not is_library(code.co_filename)


def is_users_class(kind: type) -> bool:
    return any(is_users(member) for member in vars(kind).values())


def _methods(kind: type) -> Iterator[Any]:
    """What the user wrote that may run in a step."""
    for each in kind.__mro__:
        for name, member in vars(each).items():
            function = member.fget if isinstance(member, property) else member
            written = isinstance(function, types.FunctionType) and is_users(function)
            if written and name not in _MADE_ONCE:
                yield function


def _is_library_class(kind: type) -> bool:
    """TensorFlow's, NumPy's or Python's own."""
    if is_tensorflow(kind, own=False) or kind.__module__ == "numpy":
        return True
    return getattr(builtins, kind.__name__, None) is kind
