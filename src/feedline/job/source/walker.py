"""One function of the user's, statement by statement, and all that it uses: one walk
for two judges. `purity.py` asks whether it gives the same for the same and changes
nothing, `graph_safe.py` whether it means the same as a graph.

A closed world for both: a statement, an expression, a name or an attribute is of a kind
that is known, or it is refused. Here is what holds whatever is asked: which kinds of
statements there are, what a name stands for, how an attribute is found. Whatever a
function can get hold of is either named in it, and looked at, or made by something that
is. The judges say what may be read, called, set and changed in its place; what a
judge takes from here and makes weaker would be a hole.

Names and attributes are resolved to what they hold where that is known: globals,
closures, attributes of the object whose method it is. Nothing of the user's is run.
"""

from __future__ import annotations

import abc
import ast
import builtins
import inspect
import sys
import types
from collections.abc import Iterable
from typing import Any, ClassVar

from feedline.job.source.definitions import Function, definition_of, made
from feedline.job.source.dependencies import Dependency
from feedline.job.source.fresh_values import own_names
from feedline.job.source.scopes import bound
from feedline.job.source.users import is_users

STATEMENTS = (
    *(ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.With, ast.Return),
    *(ast.If, ast.For, ast.While, ast.Pass, ast.Break, ast.Continue, ast.Raise),
    *(ast.FunctionDef, ast.Assert, ast.Delete),
)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
EXPRESSIONS = (
    *(ast.BoolOp, ast.NamedExpr, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Dict, ast.Set),
    *(ast.Compare, ast.FormattedValue, ast.JoinedStr, ast.Constant, ast.Subscript),
    *(ast.Starred, ast.List, ast.Tuple, ast.Slice, ast.Lambda, *COMPREHENSIONS),
    *(ast.Call, ast.Attribute, ast.Name),
)


class Unknown:
    """A value that only running the function would tell: an argument, a result."""


UNKNOWN = Unknown()
JUDGED = Unknown()
"""A function of the user's, or what his property gives: its source was read."""


class Judge(abc.ABC):
    """What is known so far of all that a function can reach."""

    walker: type[Walker]

    def __init__(self) -> None:
        self.at: Walker | None = None
        self.held: dict[tuple[int, Any], Dependency] = {}
        self._done: dict[tuple[int, int], Any] = {}  # held on to: an `id` stays taken

    def is_new(self, one: Any, other: Any = None) -> bool:
        key = (id(one), id(other))
        if key in self._done:
            return False
        self._done[key] = (one, other)
        return True

    def function(self, function: Any, me: Any = None) -> None:
        """A function of the user's; `me` is the object whose method it is."""
        if self.is_new(function, me):
            self.walk(function, me)

    def walk(self, function: Any, me: Any) -> None:
        source = definition_of(function.__code__)
        if source is None:
            name = _name_of(function)
            self.refuse(f"runs {name}, whose source is not at hand or has changed")
            return
        before, self.at = self.at, self.walker(self, function, source, me)
        try:
            self.at.read()
        finally:
            self.at = before

    @abc.abstractmethod
    def refuse(self, doing: str) -> None:
        """The function that is walked now does what is not known to be harmless."""

    def accuse(self, doing: str) -> None:
        """It does what is known to be harmful."""
        self.refuse(doing)

    @abc.abstractmethod
    def value(self, value: Any, said: str) -> None:
        """Something that a function has at hand, `said` in its own words."""

    def hold(self, there: Any, name: Any, value: Any, said: str) -> None:
        """What a function found, and where."""
        self.held.setdefault((id(there), name), Dependency(there, name, value, said))


class Walker(abc.ABC):
    """One function."""

    known: ClassVar[tuple[type[ast.AST], ...]] = (*STATEMENTS, *EXPRESSIONS)

    def __init__(self, judge: Any, function: Any, source: Function, me: Any) -> None:
        self.judge, self.refuse = judge, judge.refuse
        self.function, self.source, self.me = function, source, me
        self.who = _name_of(function)
        names, cells = function.__code__.co_freevars, function.__closure__ or ()
        self.cells = dict(zip(names, cells, strict=True))
        self.own = own_names(source, function)
        self.scopes = [_names_in(source)]
        self.imported: dict[str, Any] = {}
        self.line = getattr(source, "lineno", 0)
        first = [*source.args.posonlyargs, *source.args.args]
        self.self_name = first[0].arg if me is not None and first else ""

    def read(self) -> None:
        if self.self_name in bound(ast.Module(_body(self.source), [])):
            self.refuse(f"sets {self.self_name}")
        function = self.function
        for values in (function.__defaults__, (function.__kwdefaults__ or {}).values()):
            for value in values or ():
                self.judge.value(value, "a default")
        self.all(_body(self.source))

    def all(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    # ------------------------------------------------------------ statements

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.stmt | ast.expr):
            self.line = node.lineno
        match node:
            case ast.Global() | ast.Nonlocal():
                names = ", ".join(node.names)
                self.judge.accuse(f"changes {names} outside of itself")
            case ast.stmt() | ast.expr() if not isinstance(node, self.known):
                kind = "statement" if isinstance(node, ast.stmt) else "expression"
                makes = isinstance(node, ast.Yield | ast.YieldFrom)
                said = f"has the {kind} {ast.unparse(node)[:40]!r}"
                self.refuse("is a generator" if makes else said)
            case ast.Import() | ast.ImportFrom():
                self.imports(node)
            case ast.FunctionDef() | ast.Lambda():
                self.nested(node)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                self.comprehension(node)
            case ast.Call():
                self.call(node)
            case ast.Attribute():
                self.attribute(node)
            case ast.Name():
                if isinstance(node.ctx, ast.Load):
                    self.judge.value(self.resolve(node), node.id)
            case ast.Subscript():
                if not isinstance(node.ctx, ast.Load) and not self.is_own(node.value):
                    self.refuse(f"sets {ast.unparse(node)}")
                self.subscript(node)
            case ast.AugAssign():
                if isinstance(node.target, ast.Name) and self.changes(node):
                    self.refuse(f"may change {node.target.id} in place")
                self.all([node.target, node.value])
            case ast.Assign() | ast.NamedExpr() | ast.AnnAssign():
                self.assigned(node)
            case ast.ExceptHandler():  # its type only says what is caught
                self.all(node.body)
            case _:
                self.all(ast.iter_child_nodes(node))

    def imports(self, node: ast.Import | ast.ImportFrom) -> None:
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
                self.refuse(f"imports {alias.name}")
            self.imported[name] = value
            self.judge.value(value, alias.name)

    def nested(self, node: ast.FunctionDef | ast.Lambda) -> None:
        self.all(getattr(node, "decorator_list", ()))
        self.all([*node.args.defaults, *node.args.kw_defaults])
        self.scopes.append(_names_in(node))
        self.all(_body(node))
        self.scopes.pop()

    def comprehension(self, node: Any) -> None:
        self.visit(node.generators[0].iter)
        targets = [each.target for each in node.generators]
        self.scopes.append(set().union(*map(bound, targets)))
        self.all(ast.iter_child_nodes(node))
        self.scopes.pop()

    def assigned(self, node: ast.Assign | ast.NamedExpr | ast.AnnAssign) -> None:
        self.all([node.value, *targets_of(node)])

    def is_own(self, node: ast.expr) -> bool:
        """Did the function make it itself, so that it may change it?"""
        return isinstance(node, ast.Name) and node.id in self.own

    @abc.abstractmethod
    def changes(self, node: ast.AugAssign) -> bool:
        """May `+=` change what is somebody else's in its place?"""

    @abc.abstractmethod
    def call(self, node: ast.Call) -> None: ...

    @abc.abstractmethod
    def attribute(self, node: ast.Attribute) -> None: ...

    def subscript(self, node: ast.Subscript) -> None:
        self.all([node.value, node.slice])

    # -------------------------------------------------------- what names hold

    def resolve(self, node: ast.expr | None) -> Any:
        """What this name or attribute holds now, `UNKNOWN` where only running would
        tell. What is found is held on to; functions of the user's are judged."""
        if isinstance(node, ast.Name):
            return self._named(node.id)
        if not isinstance(node, ast.Attribute):
            return UNKNOWN
        base, name = self.resolve(node.value), self._mangled(node.attr)
        if inspect.ismodule(base):
            value = getattr(base, name, UNKNOWN)
            if name in vars(base):
                self.judge.hold(vars(base), name, value, f"{base.__name__}.{name}")
            return value
        if inspect.isclass(base):
            return self.of_class(base, name)
        if self.is_opaque(base):
            return UNKNOWN
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
            return self.imported.get(name, UNKNOWN)
        if name in self.cells:
            cell = self.cells[name]
            try:
                value = cell.cell_contents
            except ValueError:
                self.refuse(f"uses {name}, which is not set yet")
                return UNKNOWN
            self.judge.hold(cell, None, value, name)
            return value
        around = self.function.__globals__
        if name in around:
            self.judge.hold(around, name, around[name], name)
            return around[name]
        if not hasattr(builtins, name):
            self.refuse(f"uses {name}, which is not set yet")
            return UNKNOWN
        self.judge.hold(around, name, Dependency, name)  # nobody has shadowed it
        return getattr(builtins, name)

    def _of_object(self, base: Any, name: str) -> Any:
        """By its `__dict__`, so that nothing of the user's is run."""
        kind = type(base)
        owner = next((each for each in kind.__mro__ if name in vars(each)), None)
        static = UNKNOWN if owner is None else vars(owner)[name]
        if isinstance(static, property):
            return self.judged(static.fget, base) or self.of_kind(base, static, name)
        inside, said = getattr(base, "__dict__", {}), f"{kind.__name__}.{name}"
        if name in inside and not _is_data_descriptor(static):
            self.judge.hold(inside, name, inside[name], said)
            return inside[name]
        if owner is None:
            return self.of_kind(base, static, name)
        self.judge.hold(vars(owner), name, static, said)
        if name not in inside:
            self.judge.hold(inside, name, Dependency, said)  # it has none of its own
        function = getattr(static, "__func__", static)
        me = None if isinstance(static, staticmethod) else base
        me = kind if isinstance(static, classmethod) else me
        return self.judged(function, me) or self.of_kind(base, static, name)

    def judged(self, function: Any, me: Any) -> Unknown | None:
        """A function of the user's is read, wherever it is found."""
        if not isinstance(function, types.FunctionType) or not is_users(function):
            return None
        self.judge.function(function, me)
        return JUDGED

    @abc.abstractmethod
    def is_opaque(self, base: Any) -> bool:
        """Are its attributes not looked at one by one?"""

    @abc.abstractmethod
    def of_class(self, kind: type, name: str) -> Any:
        """What a class has for its name."""

    @abc.abstractmethod
    def of_kind(self, base: Any, static: Any, name: str) -> Any:
        """Something that the class has for all of its objects, no function of the
        user's; `UNKNOWN` where it has nothing of that name."""


def _name_of(function: Any) -> str:
    if function.__code__ in made:
        return "the step in the loop"
    return str(function.__qualname__.rpartition("<locals>.")[2])


def targets_of(node: ast.Assign | ast.NamedExpr | ast.AnnAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _body(source: Function) -> list[ast.stmt]:
    if isinstance(source, ast.Lambda):
        return [ast.copy_location(ast.Expr(value=source.body), source.body)]
    return source.body


def _names_in(source: Function) -> set[str]:
    """Its arguments and all that it sets."""
    arguments = source.args
    listed = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    more = (arguments.vararg, arguments.kwarg)
    names = {each.arg for each in (*listed, *more) if each is not None}
    return names.union(*(bound(each) for each in _body(source)))


def _is_data_descriptor(static: Any) -> bool:
    """Does it come before what the object itself has?"""
    return hasattr(type(static), "__set__") or hasattr(type(static), "__delete__")
