"""One function of the user's, statement by statement: does it only compute?

A name is resolved to what it holds where that is known: globals, closures, attributes
of the object whose method it is. Arguments and results are unknown; of those, only
methods that are known to be harmless may be called (`library.METHODS`). Nothing of the
user's is run to find out.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import os
import types
from collections.abc import Iterable
from typing import Any

from feedline.job.loops.loop import CannotRun
from feedline.job.source import allowed
from feedline.job.source.allowed import keeps_only_variables
from feedline.job.source.definitions import definition_of, made
from feedline.job.source.dependencies import Dependency
from feedline.job.source.fresh_values import own_names
from feedline.job.source.graph_safe import (
    JUDGED,
    PLAIN,
    UNKNOWN,
    Look,
    is_graph,
    is_users,
    is_users_class,
)
from feedline.job.source.mutating import CHANGING
from feedline.job.source.scopes import bound

_STATEMENTS = (
    *(ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.With, ast.Return),
    *(ast.If, ast.For, ast.While, ast.Pass, ast.Break, ast.Continue, ast.Raise),
    *(ast.FunctionDef, ast.Assert, ast.Delete),
)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_DISPLAYS = (ast.List, ast.Tuple, ast.Dict, ast.Set, *_COMPREHENSIONS)
_SAYING = {"append": "appends to", "add": "adds to", "write": "writes to"}
_DUNDER = {"__name__", "__call__", "__class__"}


class Body:
    def __init__(self, look: Look, function: Any, me: Any) -> None:
        self.look = look
        self.me = me
        self.code = function.__code__
        self.who = _name_of(function, me)
        source = definition_of(self.code)
        if source is None:
            raise CannotRun(f"runs {self.who}, whose source is not at hand or changed")
        self.source = source
        self.function = function
        self.globals = function.__globals__
        cells = function.__closure__ or ()
        self.cells = dict(zip(self.code.co_freevars, cells, strict=True))
        self.own = own_names(source, function)
        first = source.args.posonlyargs + source.args.args
        self.self_name = first[0].arg if me is not None and first else ""
        if self.self_name in bound(ast.Module(_body(source), [])):
            raise CannotRun(f"{self.who} sets {self.self_name}")
        self.scopes = [_names_in(source)]
        self.line = getattr(source, "lineno", 0)

    def read(self) -> None:
        defaults = (
            *(self.function.__defaults__ or ()),
            *(self.function.__kwdefaults__ or {}).values(),
        )
        try:
            for value in defaults:
                self.look.value(value, "a default")
            for statement in _body(self.source):
                self._visit(statement)
        except CannotRun as reason:
            raise self._placed(reason) from None

    def _placed(self, reason: CannotRun) -> CannotRun:
        """With who does it and where, if nobody said so yet."""
        if getattr(reason, "placed", False):
            return reason
        found = CannotRun(self._place.format(reason))
        found.placed = True  # type: ignore[attr-defined]
        return found

    @property
    def _place(self) -> str:
        name = os.path.basename(self.code.co_filename)
        who = self.who.replace("{", "{{").replace("}", "}}")
        return f"{who} {{}} ({name}:{self.line})"

    # ------------------------------------------------------------ statements

    def _visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.stmt | ast.expr):
            self.line = node.lineno
        if isinstance(node, ast.Global | ast.Nonlocal):
            raise CannotRun(f"sets {', '.join(node.names)} outside of itself")
        if isinstance(node, ast.stmt) and not isinstance(node, _STATEMENTS):
            raise CannotRun(f"has a statement {ast.unparse(node)[:40]!r}")
        if isinstance(node, ast.Yield | ast.YieldFrom | ast.Await):
            raise CannotRun("is a generator")
        if isinstance(node, ast.Attribute | ast.Subscript):
            self._not_set(node)
        if isinstance(node, ast.Call):
            self._call(node)
        elif isinstance(node, ast.Attribute):
            self._attribute(node, called=False)
        elif isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                self.look.value(self._resolve(node), node.id)
        elif isinstance(node, ast.AugAssign):
            self._augmented(node)
        elif isinstance(node, ast.Assign | ast.NamedExpr | ast.AnnAssign):
            self._assigned(node)
        elif isinstance(node, ast.FunctionDef | ast.Lambda):
            self._nested(node)
        elif isinstance(node, _COMPREHENSIONS):
            self._comprehension(node)
        else:
            self._all(ast.iter_child_nodes(node))

    def _all(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self._visit(node)

    def _not_set(self, node: ast.Attribute | ast.Subscript) -> None:
        """It may set an item of what it made itself, nothing else."""
        own = isinstance(node, ast.Subscript) and self._is_own(node.value)
        if not isinstance(node.ctx, ast.Load) and not own:
            raise CannotRun(f"sets {ast.unparse(node)}")

    def _is_own(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self.own

    def _assigned(self, node: ast.Assign | ast.NamedExpr | ast.AnnAssign) -> None:
        if node.value is None:
            return
        if allowed.is_container(self._resolve(node.value)):
            raise CannotRun(f"gives {ast.unparse(node.value)} another name")
        self._visit(node.value)
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        self._all(targets)

    def _augmented(self, node: ast.AugAssign) -> None:
        """`+=` makes a new tensor or number, but changes a list where it is."""
        target = node.target
        if isinstance(target, ast.Name) and target.id not in self.own:
            listed = isinstance(node.value, _DISPLAYS) or self._is_own_list(node.value)
            if listed or self._may_be_foreign(target.id):
                raise CannotRun(f"may change {target.id} in place")
        self._visit(target)
        self._visit(node.value)

    def _is_own_list(self, node: ast.expr) -> bool:
        """Is it a list that was made here?"""
        return self._is_own(node) and any(
            isinstance(each, ast.Assign)
            and isinstance(each.value, _DISPLAYS)
            and any(
                getattr(t, "id", "") == getattr(node, "id", 0) for t in each.targets
            )
            for each in ast.walk(self.source)
        )

    def _may_be_foreign(self, name: str) -> bool:
        """Is it ever given what an object or a module has, and not a number?"""
        for node in ast.walk(self.source):
            if not isinstance(node, ast.Assign | ast.NamedExpr | ast.AnnAssign):
                continue
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if not any(getattr(each, "id", "") == name for each in targets):
                continue
            for value in ast.walk(node.value) if node.value is not None else ():
                if isinstance(value, ast.Call | ast.BinOp | ast.Lambda):
                    break
                if isinstance(value, ast.Attribute):
                    held = self._resolve(value)
                    if held is UNKNOWN and self._resolve(value.value) is UNKNOWN:
                        continue  # of an argument or a result
                    if type(held) not in PLAIN:
                        return True
        return False

    def _nested(self, node: ast.FunctionDef | ast.Lambda) -> None:
        self._all(getattr(node, "decorator_list", ()))
        self._all([*node.args.defaults, *node.args.kw_defaults])
        self.scopes.append(_names_in(node))
        self._all(_body(node))
        self.scopes.pop()

    def _comprehension(self, node: Any) -> None:
        self._visit(node.generators[0].iter)
        names = set().union(*(bound(each.target) for each in node.generators))
        self.scopes.append(names)
        self._all(ast.iter_child_nodes(node))
        self.scopes.pop()

    # ----------------------------------------------------- calls and attributes

    def _call(self, node: ast.Call) -> None:
        called = self._resolve(node.func)
        if called is builtins.super:
            return  # its arguments are a class and the object itself
        given: list[ast.expr] = [*node.args, *(k.value for k in node.keywords)]
        if called is builtins.isinstance or called is builtins.issubclass:
            for kind in self._classes(given[1:]):
                self.look.value(kind, "a class", made=False)
            given = given[:1]
        if isinstance(node.func, ast.Attribute):
            self._attribute(node.func, called=True)
        else:
            self._visit(node.func)
        for each in given:
            plain = each.value if isinstance(each, ast.Starred) else each
            if is_users(called) and allowed.is_container(self._resolve(plain)):
                raise CannotRun(f"hands {ast.unparse(plain)} on to {self.who}")
        self._all(given)

    def _classes(self, nodes: list[ast.expr]) -> Iterable[Any]:
        for node in nodes:
            if isinstance(node, ast.Tuple):
                yield from self._classes(node.elts)
            elif isinstance(node, ast.BinOp):
                yield from self._classes([node.left, node.right])
            else:
                yield self._resolve(node)

    def _attribute(self, node: ast.Attribute, *, called: bool) -> None:
        """The whole chain: `self.model.optimizer.apply_gradients`."""
        holder = self._resolve(node.value)
        self._along(node)
        if node.attr in CHANGING and not self._may_change(node.value, holder):
            doing = _SAYING.get(node.attr, "may change")
            raise CannotRun(f"{doing} {ast.unparse(node.value)}")
        value = self._resolve(node)
        if value is UNKNOWN and called and not self._is_own(node.value):
            place = self._place
            self.look.called(node.attr, place)
        self.look.value(value, ast.unparse(node))

    def _may_change(self, node: ast.expr, holder: Any) -> bool:
        return inspect.ismodule(holder) or self._is_own(node)

    def _along(self, node: ast.Attribute) -> None:
        """What stands before the last dot is used as well."""
        dunder = node.attr.startswith("__") and node.attr.endswith("__")
        if dunder and node.attr not in _DUNDER:
            raise CannotRun(f"uses {ast.unparse(node)}")
        base = node.value
        holder = self._resolve(base)
        if node.attr in ("numpy", "_numpy") and not inspect.ismodule(holder):
            raise CannotRun(f"uses {ast.unparse(node)}: the value of a tensor")
        self.look.named(node.attr)
        if keeps_only_variables(type(holder)):
            self.look.object(holder)
        if isinstance(base, ast.Attribute):
            self._not_set(base)
            self._along(base)
        elif not isinstance(base, ast.Name):
            self._visit(base)

    # -------------------------------------------------------- what names hold

    def _resolve(self, node: ast.expr | None) -> Any:
        """What this name or attribute holds now. What is found is held on to."""
        if isinstance(node, ast.Name):
            return self._named(node.id)
        if not isinstance(node, ast.Attribute):
            return UNKNOWN
        base = self._resolve(node.value)
        if base is UNKNOWN or base is JUDGED or type(base) in PLAIN:
            return UNKNOWN
        if allowed.is_container(base):
            return UNKNOWN
        name = self._mangled(node.attr)
        if inspect.ismodule(base):
            value = getattr(base, name, UNKNOWN)
            if name in vars(base):
                self.look.hold(vars(base), name, value, f"{base.__name__}.{name}")
            return value
        if inspect.isclass(base):
            return self._of_class(base, name)
        return self._of_object(base, name)

    def _mangled(self, name: str) -> str:
        """`__private` names carry their class."""
        path = self.function.__qualname__.split(".")
        if not name.startswith("__") or name.endswith("__") or len(path) < 2:
            return name
        return f"_{path[-2].lstrip('_')}{name}"

    def _named(self, name: str) -> Any:
        if name == self.self_name and not any(name in s for s in self.scopes[1:]):
            return self.me
        if any(name in names for names in self.scopes):
            return UNKNOWN
        if name in self.cells:
            cell = self.cells[name]
            try:
                value = cell.cell_contents
            except ValueError:
                raise CannotRun(f"uses {name}, which is not set yet") from None
            if name == "__class__":
                return UNKNOWN
            self.look.hold(cell, None, value, name)
            return value
        if name in self.globals:
            value = self.globals[name]
            self.look.hold(self.globals, name, value, name)
            return value
        if name in self.code.co_varnames or not hasattr(builtins, name):
            return UNKNOWN
        self.look.hold(self.globals, name, Dependency, name)  # nobody has shadowed it
        return getattr(builtins, name)

    def _of_class(self, base: type, name: str) -> Any:
        static = inspect.getattr_static(base, name, UNKNOWN)
        owner = next((k for k in base.__mro__ if name in vars(k)), None)
        if owner is not None and is_users_class(owner):
            self.look.hold(vars(owner), name, static, f"{owner.__name__}.{name}")
        if isinstance(static, staticmethod):
            return static.__func__
        if allowed.is_known_class(base):
            return getattr(base, name, UNKNOWN)
        if isinstance(static, classmethod):
            self.look.function(static.__func__)
            return JUDGED
        return static

    def _of_object(self, base: Any, name: str) -> Any:
        """By its `__dict__`, so that nothing of the user's is run."""
        kind = type(base)
        said = f"{kind.__name__}.{name}"
        static = inspect.getattr_static(kind, name, UNKNOWN)
        inside = getattr(base, "__dict__", {})
        if isinstance(static, property):
            if static.fget is not None and is_users(static.fget):
                self.look.function(static.fget, base)
                return JUDGED
            if not keeps_only_variables(kind):
                raise CannotRun(f"uses {said}")
            return UNKNOWN
        if name in inside:
            self.look.hold(inside, name, inside[name], said)
            return inside[name]
        if static is UNKNOWN:
            if keeps_only_variables(kind):
                return UNKNOWN
            raise CannotRun(f"uses {said}, which it does not have yet")
        owner = next(each for each in kind.__mro__ if name in vars(each))
        self.look.hold(vars(owner), name, static, said)
        self.look.hold(inside, name, Dependency, said)  # it has none of its own
        return self._of_kind(base, static, said)

    def _of_kind(self, base: Any, static: Any, said: str) -> Any:
        """Something that the class has for all of its objects."""
        function = getattr(static, "__func__", static)
        if is_graph(static):
            inner = getattr(static, "python_function", None)
            if isinstance(inner, types.FunctionType) and is_users(inner):
                self.look.function(inner, base)
            return JUDGED
        if isinstance(function, types.FunctionType) and is_users(function):
            self.look.function(
                function, None if isinstance(static, staticmethod) else base
            )
            return JUDGED
        if type(static) in PLAIN or allowed.is_container(static):
            return static
        if keeps_only_variables(type(base)) and not hasattr(type(static), "__get__"):
            return static
        if keeps_only_variables(type(base)) and not is_users_class(type(static)):
            return UNKNOWN  # the library's own
        raise CannotRun(f"uses {said}, a {type(static).__name__}")


def _name_of(function: Any, me: Any) -> str:
    if function.__code__ in made:
        return "the step in the loop"
    name = str(function.__name__)
    return f"{type(me).__name__}.{name}" if me is not None else name


def _body(source: ast.FunctionDef | ast.Lambda) -> list[ast.stmt]:
    if isinstance(source, ast.Lambda):
        return [ast.copy_location(ast.Expr(value=source.body), source.body)]
    return source.body


def _names_in(source: ast.FunctionDef | ast.Lambda) -> set[str]:
    """Its arguments and all that it sets."""
    arguments = source.args
    listed = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    more = (arguments.vararg, arguments.kwarg)
    names = {each.arg for each in (*listed, *more) if each is not None}
    return names.union(*(bound(each) for each in _body(source)))
