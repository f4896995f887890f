"""The loops of a script, and what statements in their bodies read and set: judged by
the source alone."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from feedline.job.changing import CHANGING

_PLAIN = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.With, ast.For, ast.If)
_LEAVES = (ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.Await)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_MAKES_NAMES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
# They want a value at once.
_HOST = {"print", "float", "int", "open", "input"}

Scope: TypeAlias = ast.Module | ast.FunctionDef

sources: dict[str, ast.FunctionDef] = {}
"""The functions that are made of parts of a script, by name: no file has them."""


@dataclass
class Place:
    """A loop: `inside` are the loops around it, itself the last; `outermost` is the
    first of them, a statement of `block`."""

    inside: list[ast.For | ast.While]
    block: list[ast.stmt]
    outermost: ast.stmt

    @property
    def loop(self) -> ast.For | ast.While:
        return self.inside[-1]

    def put_before(self, statement: ast.stmt) -> None:
        """Before all of its loops."""
        at = next(i for i, each in enumerate(self.block) if each is self.outermost)
        self.block.insert(at, statement)


@dataclass
class Part:
    """Statements of a loop's body, and what they read and set."""

    statements: list[ast.stmt]
    reads: set[str] = field(default_factory=set)
    sets: set[str] = field(default_factory=set)
    sure: set[str] = field(default_factory=set)


def scopes(tree: ast.Module) -> list[Scope]:
    """The module and all functions in it."""
    return [n for n in ast.walk(tree) if isinstance(n, ast.Module | ast.FunctionDef)]


def loops(scope: Scope) -> Iterator[Place]:
    """The loops of this scope, outer ones first."""

    def within(
        block: list[ast.stmt],
        around: list[ast.For | ast.While],
        outer: tuple[list[ast.stmt], ast.stmt] | None,
    ) -> Iterator[Place]:
        for statement in block:
            if isinstance(statement, _MAKES_NAMES):
                continue
            inside, first = around, outer
            if isinstance(statement, ast.For | ast.While):
                inside = [*around, statement]
                first = outer or (block, statement)
                yield Place(inside, *first)
            for nested in _blocks(statement):
                yield from within(nested, inside, first)

    yield from within(scope.body, [], None)


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, None)
        if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
            yield block
    for handler in getattr(statement, "handlers", ()):
        yield handler.body


def is_tape(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.With) and any(
        isinstance(item.context_expr, ast.Call)
        and ast.unparse(item.context_expr.func).endswith("GradientTape")
        for item in statement.items
    )


def only_computes(statement: ast.stmt) -> bool:
    for node in ast.walk(statement):
        if isinstance(node, ast.stmt) and not isinstance(node, _PLAIN):
            return False
        if isinstance(node, (*_LEAVES, *_MAKES_NAMES)):
            return False
        if isinstance(node, ast.Name) and node.id in _HOST:
            return False
        if isinstance(node, ast.Attribute):
            if node.attr == "numpy" or not isinstance(node.ctx, ast.Load):
                return False
            if node.attr in CHANGING - {"add"}:
                return False
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            return False
    return True


def with_one_more(part: Part, statement: ast.stmt) -> Part | None:
    """One more statement; None where it reads what a round before may have set."""
    flow = _Flow(set(part.reads))
    sure = set(part.sure)
    flow.see(statement, sure)
    sets = part.sets | stores(statement)
    if flow.lost or flow.reads & sets:
        return None
    return Part([*part.statements, statement], flow.reads, sets, sure)


class _Flow:
    """Which names are read before they are set, in the order in which Python does
    it. `bound` are those that are set for certain, and grows."""

    def __init__(self, reads: set[str]) -> None:
        self.reads = reads
        self.lost = False

    def see(self, node: ast.AST, bound: set[str]) -> None:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            self._all([node.value], bound)
            bound |= set().union(*map(stores, targets))
        elif isinstance(node, ast.AugAssign):
            self._read(getattr(node.target, "id", ""), bound)
            self.see(node.value, bound)
        elif isinstance(node, ast.With):
            for item in node.items:
                self.see(item.context_expr, bound)
                if item.optional_vars is not None:
                    bound |= stores(item.optional_vars)
            self._all(node.body, bound)
        elif isinstance(node, ast.For):  # perhaps never
            self.see(node.iter, bound)
            self._all([*node.body, *node.orelse], bound | stores(node.target))
        elif isinstance(node, ast.If):
            self.see(node.test, bound)
            self._all(node.body, set(bound))
            self._all(node.orelse, set(bound))
        elif isinstance(node, _COMPREHENSIONS):
            own = set().union(*(stores(each.target) for each in node.generators))
            self._all(ast.iter_child_nodes(node), bound | own)
        elif isinstance(node, ast.NamedExpr):
            self.lost = True
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            self._read(node.id, bound)
        else:
            self._all(ast.iter_child_nodes(node), bound)

    def _all(self, nodes: Iterable[ast.AST | None], bound: set[str]) -> None:
        for node in nodes:
            if node is not None:
                self.see(node, bound)

    def _read(self, name: str, bound: set[str]) -> None:
        if name not in bound:
            self.reads.add(name)


def stores(node: ast.AST) -> set[str]:
    """The names that this sets; those of comprehensions are their own."""
    found: set[str] = set()
    waiting: list[ast.AST] = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(
            one, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
        ):
            continue
        if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load):
            found.add(one.id)
        waiting += ast.iter_child_nodes(one)
    return found


def loads(scope: ast.AST, apart_from: Sequence[ast.stmt] = ()) -> set[str]:
    """The names that anything in this scope reads or deletes, functions in it
    included, but for these statements."""
    left_out = {id(each) for each in apart_from}
    found: set[str] = set()
    waiting: list[ast.AST] = [scope]
    while waiting:
        one = waiting.pop()
        if id(one) in left_out:
            continue
        if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Store):
            found.add(one.id)
        if isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name):
            found.add(one.target.id)
        if isinstance(one, ast.Global | ast.Nonlocal):
            found |= {*one.names}
        waiting += ast.iter_child_nodes(one)
    return found


def declared(scope: Scope) -> set[str]:
    """Names that belong to another scope."""
    return {
        name
        for node in ast.walk(scope)
        if isinstance(node, ast.Global | ast.Nonlocal)
        for name in node.names
    }


def names_tuple(names: Sequence[str], context: ast.expr_context) -> ast.Tuple:
    return ast.Tuple(elts=[ast.Name(id=n, ctx=context) for n in names], ctx=context)


def function_of(
    name: str, parameters: Sequence[str], body: Sequence[ast.stmt]
) -> ast.FunctionDef:
    """Where its first statement stands."""
    function = ast.FunctionDef(
        name=name,
        args=ast.arguments(
            posonlyargs=[],
            args=[ast.arg(arg=each) for each in parameters],
            kwonlyargs=[],
            kw_defaults=[],
            defaults=[],
        ),
        body=[*body],
        decorator_list=[],
    )
    return ast.fix_missing_locations(ast.copy_location(function, body[0]))
