"""The loops of a script, and what statements in their bodies read and set: judged by
the source alone. What is not known to be harmless ends a part."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from feedline.job.source.mutating import CHANGING
from feedline.job.source.scopes import Scope, bound

_PLAIN = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.With, ast.For, ast.If)
_LEAVES = (ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.Await)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp)
# A generator remembers names for later; `:=` sets them in the middle of things.
_LATER = (ast.GeneratorExp, ast.NamedExpr)
_MAKES_NAMES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
# They want a value at once, or the class that they stand in.
_HOST = {"print", "float", "int", "open", "input", "super", "__class__"}


@dataclass(frozen=True)
class Place:
    """A loop: `inside` are the loops around it, itself the last."""

    inside: tuple[ast.For | ast.While, ...]

    @property
    def loop(self) -> ast.For | ast.While:
        return self.inside[-1]

    @property
    def changing(self) -> set[str]:
        """What its rounds, and those of the loops around it, may set."""
        return set().union(*map(bound, self.inside))


@dataclass(frozen=True)
class Part:
    """Statements of a loop's body, and what they read and set; `sure` is set in any
    case, `tapes` are gradient tapes."""

    statements: tuple[ast.stmt, ...] = ()
    reads: frozenset[str] = frozenset()
    sets: frozenset[str] = frozenset()
    sure: frozenset[str] = frozenset()
    tapes: frozenset[str] = frozenset()


def scopes(tree: ast.Module) -> list[Scope]:
    """The module and all functions in it."""
    return [n for n in ast.walk(tree) if isinstance(n, ast.Module | ast.FunctionDef)]


def loops(scope: Scope) -> Iterator[Place]:
    """The loops of this scope, outer ones first."""

    def within(
        block: list[ast.stmt], around: tuple[ast.For | ast.While, ...]
    ) -> Iterator[Place]:
        for statement in block:
            if isinstance(statement, _MAKES_NAMES):
                continue
            inside = around
            if isinstance(statement, ast.For | ast.While):
                inside = (*around, statement)
                yield Place(inside)
            for nested in _blocks(statement):
                yield from within(nested, inside)

    yield from within(scope.body, ())


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, None)
        if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
            yield block
    for handler in (*getattr(statement, "handlers", ()), *_cases(statement)):
        yield handler.body


def _cases(statement: ast.stmt) -> Sequence[ast.match_case]:
    return statement.cases if isinstance(statement, ast.Match) else ()


def header(loop: ast.For | ast.While) -> range:
    """The lines that may stand for the loop where it starts to read."""
    head = loop.iter if isinstance(loop, ast.For) else loop.test
    return range(loop.lineno, (head.end_lineno or head.lineno) + 1)


def is_tape(statement: ast.AST) -> bool:
    """Does it do nothing but open gradient tapes?"""
    return isinstance(statement, ast.With) and all(
        isinstance(item.context_expr, ast.Call)
        and ast.unparse(item.context_expr.func).split(".")[-1] == "GradientTape"
        for item in statement.items
    )


def only_computes(statement: ast.stmt) -> bool:
    for node in ast.walk(statement):
        if isinstance(node, ast.stmt) and not isinstance(node, _PLAIN):
            return False
        if isinstance(node, (*_LEAVES, *_MAKES_NAMES, *_LATER)):
            return False
        if isinstance(node, ast.comprehension) and node.is_async:
            return False
        if isinstance(node, ast.Name) and (node.id in _HOST or _is_private(node.id)):
            return False
        if isinstance(node, ast.keyword) and _is_private(node.arg or ""):
            return False
        if isinstance(node, ast.Attribute):
            if node.attr == "numpy" or not isinstance(node.ctx, ast.Load):
                return False
            if node.attr in CHANGING - {"add"} or _is_private(node.attr):
                return False
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            return False
    return True


def _is_private(name: str) -> bool:
    """A class puts its name into such names, and dunder names are Python's."""
    return name.startswith("__")


def with_one_more(part: Part, statement: ast.stmt) -> Part | None:
    """One more statement; None where it reads what a round before may have set."""
    flow = _Flow(set(part.reads), set(part.tapes))
    sure = set(part.sure)
    flow.see(statement, sure)
    sets = part.sets | stores(statement)
    if flow.reads & sets:
        return None
    return Part(
        (*part.statements, statement),
        frozenset(flow.reads),
        sets,
        frozenset(sure),
        frozenset(flow.tapes),
    )


@dataclass
class _Flow:
    """Which names are read before they are set, in the order in which Python does
    it. `known` are those that are set for certain, and grows."""

    reads: set[str] = field(default_factory=set)
    tapes: set[str] = field(default_factory=set)

    def see(self, node: ast.AST, known: set[str]) -> None:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            self._all([node.value], known)
            if node.value is not None:
                known |= set().union(*map(stores, targets))
        elif isinstance(node, ast.AugAssign):
            self._read(getattr(node.target, "id", ""), known)
            self.see(node.value, known)
        elif isinstance(node, ast.With):
            self._with(node, known)
        elif isinstance(node, ast.For):  # perhaps never
            self.see(node.iter, known)
            self._all(node.body, known | stores(node.target))
            self._all(node.orelse, set(known))
        elif isinstance(node, ast.If):
            self.see(node.test, known)
            self._all(node.body, set(known))
            self._all(node.orelse, set(known))
        elif isinstance(node, _COMPREHENSIONS):
            self._comprehension(node, known)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            self._read(node.id, known)
        else:
            self._all(ast.iter_child_nodes(node), known)

    def _with(self, node: ast.With, known: set[str]) -> None:
        """A tape lets errors through. Another one may swallow them, and then what was
        to be set in it is not."""
        inside = known if is_tape(node) else set(known)
        for item in node.items:
            self.see(item.context_expr, inside)
            if item.optional_vars is not None:
                inside |= stores(item.optional_vars)
                if is_tape(node):
                    self.tapes |= stores(item.optional_vars)
        self._all(node.body, inside)

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp, known: set[str]
    ) -> None:
        """Its first iterable is read outside of it."""
        own = set().union(*(stores(each.target) for each in node.generators))
        first, inside = node.generators[0].iter, known | own
        self.see(first, known)
        for child in ast.walk(node):
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load):
                self._read(child.id, inside)

    def _all(self, nodes: Iterable[ast.AST | None], known: set[str]) -> None:
        for node in nodes:
            if node is not None:
                self.see(node, known)

    def _read(self, name: str, known: set[str]) -> None:
        if name not in known:
            self.reads.add(name)


def stores(node: ast.AST) -> set[str]:
    """The names that a plain statement or a target sets."""
    return bound(node)


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
