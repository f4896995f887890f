"""One function of the user's, statement by statement: see `purity.py`.

A name is resolved to what it holds where that is known: globals, closures, attributes
of the object whose method it is, modules that the function imports. Nothing is run.
"""

from __future__ import annotations

import ast
import builtins
import enum
import inspect
import sys
import types
from collections.abc import Iterable
from typing import Any

from feedline.job.source import pure_library as library
from feedline.job.source.fresh_values import is_made, only_reads, own_names
from feedline.job.source.mutating import CHANGING
from feedline.job.source.purity import DATA, Data, Judge, is_user, is_users_object
from feedline.job.source.scopes import bound

_STATEMENTS = (
    *(ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.With, ast.Return, ast.If),
    *(ast.For, ast.While, ast.Pass, ast.Break, ast.Continue, ast.Raise, ast.Try),
    *(ast.FunctionDef, ast.Assert, ast.Delete, ast.Import, ast.ImportFrom),
)
_EXPRESSIONS = (
    *(ast.BoolOp, ast.NamedExpr, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Dict, ast.Set),
    *(ast.Compare, ast.FormattedValue, ast.JoinedStr, ast.Constant, ast.Subscript),
    *(ast.Starred, ast.List, ast.Tuple, ast.Slice, ast.Yield, ast.YieldFrom),
)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Body:
    """One function, statement by statement."""

    def __init__(self, judge: Judge, function: Any, source: Any, me: Any) -> None:
        self.judge, self.function, self.me = judge, function, me
        self.source = source
        self.who = function.__qualname__.rpartition("<locals>.")[2]
        cells = function.__closure__ or ()
        self.cells = dict(zip(function.__code__.co_freevars, cells, strict=True))
        self.own = own_names(source, function)
        self.scopes = [_names_in(source)]
        self.imported: dict[str, Any] = {}
        first = [*source.args.posonlyargs, *source.args.args]
        self.self_name = first[0].arg if me is not None and first else ""
        if self.self_name in _set_in(_statements(source)):
            self._doubt(f"sets {self.self_name}")

    def _doubt(self, doing: str) -> None:
        self.judge.doubts.append(f"{self.who} {doing}")

    def read(self) -> None:
        function = self.function
        for value in (
            *(function.__defaults__ or ()),
            *(function.__kwdefaults__ or {}).values(),
        ):
            self.judge.value(value, f"{self.who} has a default")
        self._all(_statements(self.source))

    def _all(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self._visit(node)

    # ------------------------------------------------------------ statements

    def _visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.Global | ast.Nonlocal):
            kind = "the global " if isinstance(node, ast.Global) else ""
            names = ", ".join(node.names)
            self.judge.seen.append(f"{self.who} changes {kind}{names} outside of it")
        elif isinstance(node, ast.Import | ast.ImportFrom):
            self._import(node)
        elif isinstance(node, ast.FunctionDef | ast.Lambda):
            self._nested(node)
        elif isinstance(node, _COMPREHENSIONS):
            self._comprehension(node)
        elif isinstance(node, ast.Call):
            self._call(node)
        elif isinstance(node, ast.Attribute):
            self._attribute(node)
        elif isinstance(node, ast.Name):
            self._name(node)
        elif isinstance(node, ast.Subscript):
            self._subscript(node)
        elif isinstance(node, ast.AugAssign):
            self._augmented(node)
        elif isinstance(node, ast.AnnAssign):
            self._all([node.target, node.value])
        elif isinstance(node, ast.ExceptHandler):
            self._all(node.body)
        elif isinstance(node, ast.stmt | ast.expr) and not isinstance(
            node, (*_STATEMENTS, *_EXPRESSIONS)
        ):
            self._doubt(f"has {ast.unparse(node)[:40]!r}")
        else:
            self._all(ast.iter_child_nodes(node))

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            if isinstance(node, ast.ImportFrom):
                module = sys.modules.get(node.module or "") if not node.level else None
                value = getattr(module, alias.name, None)
                name = alias.asname or alias.name
            else:
                first = alias.name.partition(".")[0]
                value = sys.modules.get(alias.name if alias.asname else first)
                name = alias.asname or first
            if value is None or name in self.imported:
                self._doubt(f"imports {alias.name}")
            self.imported[name] = value
            self.judge.value(value, f"{self.who} imports {alias.name}")

    def _nested(self, node: ast.FunctionDef | ast.Lambda) -> None:
        self._all(getattr(node, "decorator_list", ()))
        self._all([*node.args.defaults, *node.args.kw_defaults])
        self.scopes.append(_names_in(node))
        self._all(_statements(node))
        self.scopes.pop()

    def _comprehension(self, node: Any) -> None:
        self._visit(node.generators[0].iter)
        targets = [each.target for each in node.generators]
        self.scopes.append(set().union(*map(bound, targets)))
        self._all(ast.iter_child_nodes(node))
        self.scopes.pop()

    def _augmented(self, node: ast.AugAssign) -> None:
        """`+=` may change an array where it is."""
        if isinstance(node.target, ast.Name) and node.target.id not in self.own:
            self._doubt(f"may change {node.target.id} in place")
        self._all([node.target, node.value])

    def _subscript(self, node: ast.Subscript) -> None:
        if not isinstance(node.ctx, ast.Load) and not self._is_own(node.value):
            self._doubt(f"sets {ast.unparse(node)}")
        base = self._resolve(node.value)
        if is_users_object(base):
            self._special(base, "__getitem__", ast.unparse(node))
            self._visit(node.slice)
        else:
            self._all([node.value, node.slice])

    def _special(self, value: Any, name: str, said: str) -> None:
        method = inspect.getattr_static(type(value), name, None)
        if isinstance(method, types.FunctionType) and is_user(method):
            self.judge.function(method, value)
        else:
            self._doubt(f"uses {said}")

    # ----------------------------------------------------- calls and attributes

    def _call(self, node: ast.Call) -> None:
        called = self._resolve(node.func)
        given: list[ast.expr] = [*node.args, *(k.value for k in node.keywords)]
        if called is builtins.open:
            self.judge.opens = True
            if not only_reads(node):
                self._doubt(f"opens a file to write: {ast.unparse(node)[:40]}")
        elif called in (builtins.isinstance, builtins.issubclass):
            given = given[:1]
        elif called is builtins.len and len(given) == 1:
            held = self._resolve(given[0])
            if is_users_object(held):
                self._special(held, "__len__", ast.unparse(node))
                given = []
        elif called is builtins.type and len(given) == 1:
            pass
        elif is_users_object(called):
            self.judge.routine(called, f"{self.who} calls {ast.unparse(node.func)}")
        else:
            self._visit(node.func)
        self._written(node, called)
        self._all(given)

    def _written(self, node: ast.Call, called: Any) -> None:
        """Arguments that the function called writes into must be its caller's own."""
        start = None if isinstance(called, Data) else library.writes_from(called)
        written = [*node.args[start:]] if start is not None else []
        if start is not None and any(isinstance(a, ast.Starred) for a in node.args):
            written = list(node.args)
        written += [k.value for k in node.keywords if k.arg in library.WRITTEN]
        for each in written:
            nothing = isinstance(each, ast.Constant) and each.value is None
            if not nothing and not self._is_own(each):
                self._doubt(f"writes into {ast.unparse(each)}")

    def _is_own(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self.own
        return is_made(node, self.function)

    def _attribute(self, node: ast.Attribute) -> None:
        said = ast.unparse(node)
        if not isinstance(node.ctx, ast.Load):
            self._doubt(f"sets {said}")
            return
        base = self._resolve(node.value)
        if inspect.ismodule(base) or inspect.isclass(base) or is_users_object(base):
            self._all_before(node.value)
            value = self._resolve(node)
            if isinstance(value, Data):
                self._doubt(f"uses {said}, of which little is known")
            elif not is_users_object(value):
                self.judge.value(value, f"{self.who} uses {said}")
            else:
                self._doubt(f"uses {said}")
            return
        self._visit(node.value)
        if node.attr in library.METHODS or node.attr in library.ATTRIBUTES:
            return
        if node.attr in library.PATHS_READ:
            self.judge.opens = True
        elif node.attr not in CHANGING or not self._is_own(node.value):
            self._doubt(f"uses {said}, which may change things")

    def _all_before(self, node: ast.expr) -> None:
        """What stands before the last dot: a module, a class, an object."""
        if isinstance(node, ast.Attribute):
            self._all_before(node.value)
            held = self._resolve(node)
            if inspect.ismodule(held):
                self.judge.value(held, f"{self.who} uses {ast.unparse(node)}")
        elif not isinstance(node, ast.Name):
            self._visit(node)
        elif inspect.ismodule(held := self._resolve(node)):
            self.judge.value(held, f"{self.who} uses {node.id}")

    def _name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            return
        value = self._resolve(node)
        if isinstance(value, Data):
            return
        if is_users_object(value) and not callable(value):
            self._doubt(f"uses {node.id}, a {type(value).__name__}")
        else:
            self.judge.value(value, f"{self.who} uses {node.id}")

    # -------------------------------------------------------- what names hold

    def _resolve(self, node: ast.expr | None) -> Any:
        """What this name or attribute holds, `DATA` where only running would tell."""
        if isinstance(node, ast.Name):
            return self._named(node.id)
        if not isinstance(node, ast.Attribute):
            return DATA
        base = self._resolve(node.value)
        if inspect.ismodule(base):
            return getattr(base, node.attr, DATA)
        if inspect.isclass(base):
            return _of_class(base, node.attr)
        if is_users_object(base):
            return self._of_object(base, node.attr)
        return DATA

    def _named(self, name: str) -> Any:
        if name == self.self_name and not any(name in s for s in self.scopes[1:]):
            return self.me
        if any(name in names for names in self.scopes):
            return self.imported.get(name, DATA)
        if name in self.cells:
            try:
                return self.cells[name].cell_contents
            except ValueError:
                self._doubt(f"uses {name}, which is not set yet")
                return DATA
        around = self.function.__globals__
        if name in around:
            return around[name]
        if hasattr(builtins, name):
            return getattr(builtins, name)
        self._doubt(f"uses {name}, which is not set yet")
        return DATA

    def _of_object(self, base: Any, name: str) -> Any:
        """By its `__dict__`, so that nothing of the user's is run."""
        kind = type(base)
        name = _mangled(name, self.function)
        reads = inspect.getattr_static(kind, "__getattribute__")
        if isinstance(reads, types.FunctionType):
            return DATA
        static = inspect.getattr_static(kind, name, DATA)
        if isinstance(static, property):
            if static.fget is not None and is_user(static.fget):
                self.judge.function(static.fget, base)
                return 0  # judged; what it gives was looked at there
            return DATA
        if isinstance(static, types.MemberDescriptorType):
            return getattr(base, name, DATA)
        inside = getattr(base, "__dict__", {})
        if name in inside:
            return inside[name]
        if isinstance(static, staticmethod):
            return static.__func__
        if isinstance(static, classmethod):
            return types.MethodType(static.__func__, kind)
        if isinstance(static, types.FunctionType):
            return types.MethodType(static, base)
        if hasattr(type(static), "__get__"):
            return DATA
        return static


def _of_class(kind: type, name: str) -> Any:
    if issubclass(kind, enum.Enum):
        return kind._member_map_.get(name, DATA)
    static = inspect.getattr_static(kind, name, DATA)
    if isinstance(static, staticmethod):
        return static.__func__
    if isinstance(static, classmethod) and isinstance(
        static.__func__, types.FunctionType
    ):
        return types.MethodType(static.__func__, kind)
    if type(kind) is not type or isinstance(static, property):
        return DATA
    if isinstance(static, types.FunctionType) or not hasattr(type(static), "__get__"):
        return static
    return _bound_to_class(kind, name)


def _bound_to_class(kind: type, name: str) -> Any:
    """`str.lower`, `dict.fromkeys`: listed by their names."""
    if kind.__module__ == "builtins" and (
        name in library.METHODS or name == "fromkeys"
    ):
        return len  # as harmless
    return DATA


def _mangled(name: str, function: Any) -> str:
    """`__private` names carry their class."""
    path = function.__qualname__.split(".")
    if not name.startswith("__") or name.endswith("__") or len(path) < 2:
        return name
    return f"_{path[-2].lstrip('_')}{name}"


def _statements(source: Any) -> list[ast.stmt]:
    if isinstance(source, ast.Lambda):
        return [ast.copy_location(ast.Expr(value=source.body), source.body)]
    return list(source.body)


def _set_in(statements: list[ast.stmt]) -> set[str]:
    return bound(ast.Module(statements, []))


def _names_in(source: Any) -> set[str]:
    """Its arguments and all that it sets."""
    arguments = source.args
    listed = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    more = (arguments.vararg, arguments.kwarg)
    names = {each.arg for each in (*listed, *more) if each is not None}
    return names | _set_in(_statements(source))
