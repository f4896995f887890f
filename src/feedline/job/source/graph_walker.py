"""How `graph_safe.py` reads one function: of what is unknown, an argument or a result,
only methods that are known to be harmless may be called; nothing is set or changed but
what the function made itself."""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Iterable, Iterator
from typing import Any

from feedline.job.source import known_tensorflow
from feedline.job.source.known_python import PLAIN
from feedline.job.source.known_tensorflow import is_container, keeps_only_variables
from feedline.job.source.mutating import CHANGING
from feedline.job.source.users import is_graph, is_users, is_users_class
from feedline.job.source.walker import (
    COMPREHENSIONS,
    JUDGED,
    UNKNOWN,
    Unknown,
    Walker,
    targets_of,
)

_DISPLAYS = (ast.List, ast.Tuple, ast.Dict, ast.Set, *COMPREHENSIONS)
_SAYING = {"append": "appends to", "add": "adds to", "write": "writes to"}
_DUNDER = {"__name__", "__call__", "__class__"}


class GraphWalker(Walker):
    def assigned(self, node: ast.Assign | ast.NamedExpr | ast.AnnAssign) -> None:
        if is_container(self.resolve(node.value)):
            self.refuse(f"gives {ast.unparse(node.value or node)} another name")
        super().assigned(node)

    def changes(self, node: ast.AugAssign) -> bool:
        """`+=` makes a new tensor or number, but changes a list where it is."""
        if self.is_own(node.target):
            return False
        listed = isinstance(node.value, _DISPLAYS) or self._is_own_list(node.value)
        return listed or self._may_be_foreign(node.target)

    def _is_own_list(self, node: ast.expr) -> bool:
        """Is it a list that was made here?"""
        return self.is_own(node) and any(
            isinstance(value, _DISPLAYS) for value in self._given_to(node)
        )

    def _may_be_foreign(self, name: ast.expr) -> bool:
        """Is it ever given what an object or a module has, and not a number?"""
        for given in self._given_to(name):
            for value in ast.walk(given):
                if isinstance(value, ast.Call | ast.BinOp | ast.Lambda):
                    break
                if isinstance(value, ast.Attribute):
                    held = self.resolve(value)
                    if held is UNKNOWN and self.resolve(value.value) is UNKNOWN:
                        continue  # of an argument or a result
                    if type(held) not in PLAIN:
                        return True
        return False

    def _given_to(self, name: ast.expr) -> Iterator[ast.expr]:
        for node in ast.walk(self.source):
            if isinstance(node, ast.Assign | ast.NamedExpr | ast.AnnAssign):
                known = {getattr(each, "id", "") for each in targets_of(node)}
                if getattr(name, "id", 0) in known and node.value is not None:
                    yield node.value

    # ----------------------------------------------------- calls and attributes

    def call(self, node: ast.Call) -> None:
        called = self.resolve(node.func)
        if called is builtins.super:
            return  # its arguments are a class and the object itself
        given: list[ast.expr] = [*node.args, *(k.value for k in node.keywords)]
        if called is builtins.isinstance or called is builtins.issubclass:
            for kind in self._classes(given[1:]):
                self.judge.value(kind, "a class", made=False)
            given = given[:1]
        if isinstance(node.func, ast.Attribute):
            self.attribute(node.func, called=True)
        else:
            self.visit(node.func)
        for each in given:
            plain = each.value if isinstance(each, ast.Starred) else each
            if is_users(called) and is_container(self.resolve(plain)):
                self.refuse(f"hands {ast.unparse(plain)} on to {self.who}")
        self.all(given)

    def _classes(self, nodes: Iterable[ast.expr]) -> Iterator[Any]:
        for node in nodes:
            if isinstance(node, ast.Tuple):
                yield from self._classes(node.elts)
            elif isinstance(node, ast.BinOp):
                yield from self._classes([node.left, node.right])
            else:
                yield self.resolve(node)

    def attribute(self, node: ast.Attribute, *, called: bool = False) -> None:
        """The whole chain: `self.model.optimizer.apply_gradients`."""
        if not isinstance(node.ctx, ast.Load):
            self.refuse(f"sets {ast.unparse(node)}")
        holder = self.resolve(node.value)
        self._along(node)
        may_change = inspect.ismodule(holder) or self.is_own(node.value)
        if node.attr in CHANGING and not may_change:
            doing = _SAYING.get(node.attr, "may change")
            self.refuse(f"{doing} {ast.unparse(node.value)}")
        value = self.resolve(node)
        if value is UNKNOWN and called and not self.is_own(node.value):
            self.judge.called(node.attr)
        self.judge.value(value, ast.unparse(node))

    def _along(self, node: ast.Attribute) -> None:
        """What stands before the last dot is used as well."""
        dunder = node.attr.startswith("__") and node.attr.endswith("__")
        if dunder and node.attr not in _DUNDER:
            self.refuse(f"uses {ast.unparse(node)}")
        base = node.value
        holder = self.resolve(base)
        if node.attr in ("numpy", "_numpy") and not inspect.ismodule(holder):
            self.refuse(f"uses {ast.unparse(node)}: the value of a tensor")
        self.judge.named(node.attr)
        if keeps_only_variables(type(holder)):
            self.judge.object(holder)
        if isinstance(base, ast.Attribute):
            self._along(base)
        elif not isinstance(base, ast.Name):
            self.visit(base)

    # -------------------------------------------------------- what names hold

    def is_opaque(self, base: Any) -> bool:
        if is_users(inspect.getattr_static(type(base), "__getattribute__")):
            self.refuse(f"uses a {type(base).__name__}, which has its __getattribute__")
        plain = isinstance(base, Unknown) or type(base) in PLAIN
        return plain or is_container(base)

    def of_class(self, kind: type, name: str) -> Any:
        static = inspect.getattr_static(kind, name, UNKNOWN)
        owner = next((each for each in kind.__mro__ if name in vars(each)), None)
        if owner is not None and is_users_class(owner):
            self.judge.hold(vars(owner), name, static, f"{owner.__name__}.{name}")
        if isinstance(static, staticmethod):
            return static.__func__
        if known_tensorflow.is_known_class(kind):
            return getattr(kind, name, UNKNOWN)
        function = static.__func__ if isinstance(static, classmethod) else None
        return self.judged(function, kind) or static

    def of_kind(self, base: Any, static: Any, name: str) -> Any:
        known = keeps_only_variables(type(base))
        said = f"uses {type(base).__name__}.{name}"
        if static is UNKNOWN or isinstance(static, property):
            if not known:
                why = ", which it does not have yet" if static is UNKNOWN else ""
                self.refuse(f"{said}{why}")
            return UNKNOWN
        if is_graph(static):
            self.judged(getattr(static, "python_function", None), base)
            return JUDGED
        if type(static) in PLAIN or is_container(static):
            return static
        if known and not hasattr(type(static), "__get__"):
            return static
        if not known or is_users_class(type(static)):
            self.refuse(f"{said}, a {type(static).__name__}")
        return UNKNOWN  # the library's own
