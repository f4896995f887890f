"""A training step that stands in a loop itself, in no function: made into one.

Only a function can run as a graph. So before the script is run, the part of a loop's
body from its `with tf.GradientTape()` to the last statement that only computes
becomes a function of its own, made before the outermost loop, and is called in its
place:

    for x, y in dataset:                 def step(x, y):
        with tf.GradientTape() as t:         with tf.GradientTape() as t:
            loss = ...                           loss = ...
        ...                         ->       ...
        print(float(loss))                   return (loss,)
                                         for x, y in dataset:
                                             (loss,) = step(x, y)
                                             print(float(loss))

Run by Python that is the same program: what the part reads and the loop changes are
parameters, what it sets and anything else reads is returned. Where that cannot be
said, nothing is done. The lines keep their numbers.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from feedline.job.changing import CHANGING
from feedline.job.source import is_library

PREFIX = "_feedline_step_"
_PLAIN = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.With, ast.For, ast.If)
_LEAVES = (ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.Await)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_MAKES_NAMES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
# They see or change names behind our back, or want a value at once.
_OUTSIDE = {"locals", "globals", "vars", "exec", "eval", "dir"}
_HOST = {"print", "float", "int", "open", "input"}
_TRAINS = {"apply_gradients", "update_state", "assign", "assign_add", "assign_sub"}

sources: dict[str, ast.FunctionDef] = {}
"""The functions that were made here, by name: no file has them."""


def hoisted(text: bytes, path: str) -> types.CodeType | None:
    """The script with the steps of its loops in functions; None where it has no
    such loop. Raises what `compile` raises."""
    if b"GradientTape" not in text:
        return None
    tree = ast.parse(text, path)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if names & _OUTSIDE:
        return None
    made = 0
    for scope in ast.walk(tree):
        if isinstance(scope, ast.Module | ast.FunctionDef):
            for place in list(_loops(scope)):
                made += _hoist(scope, place, f"{PREFIX}{len(sources)}")
    if not made:
        return None
    ast.fix_missing_locations(tree)
    return compile(tree, path, "exec", dont_inherit=True)


def caller_of(
    frame: types.FrameType | None, body: types.CodeType | None
) -> types.CodeType | None:
    """The user's function that the body of a loop called to come to this frame, the
    outermost; `body` is the code that the loop stands in. None where the body itself
    is here, or does not show."""
    found = None
    while frame is not None and frame.f_code is not body:
        if not is_library(frame.f_code.co_filename):
            found = frame.f_code
        frame = frame.f_back
    return found if frame is not None else None


@dataclass
class _Place:
    """A loop: `inside` are the loops around it, itself the last; `before` is the
    block and the statement in it that the outermost of them is."""

    inside: list[ast.For | ast.While]
    block: list[ast.stmt]
    outermost: ast.stmt

    @property
    def loop(self) -> ast.For | ast.While:
        return self.inside[-1]


@dataclass
class _Part:
    """Statements of a loop's body, and what they read and set."""

    statements: list[ast.stmt]
    reads: set[str] = field(default_factory=set)
    sets: set[str] = field(default_factory=set)
    sure: set[str] = field(default_factory=set)


def _loops(
    scope: ast.Module | ast.FunctionDef,
) -> Iterator[_Place]:
    """The loops of this scope with a tape in their own body."""

    def within(
        block: list[ast.stmt],
        around: list[ast.For | ast.While],
        outer: tuple[list[ast.stmt], ast.stmt] | None,
    ) -> Iterator[_Place]:
        for statement in block:
            if isinstance(statement, _MAKES_NAMES):
                continue
            inside, first = around, outer
            if isinstance(statement, ast.For | ast.While):
                inside = [*around, statement]
                first = outer or (block, statement)
                if any(map(_is_tape, statement.body)):
                    yield _Place(inside, *first)
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


def _is_tape(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.With) and any(
        isinstance(item.context_expr, ast.Call)
        and ast.unparse(item.context_expr.func).endswith("GradientTape")
        for item in statement.items
    )


def _hoist(scope: ast.Module | ast.FunctionDef, place: _Place, name: str) -> bool:
    body = place.loop.body
    start = next(i for i, statement in enumerate(body) if _is_tape(statement))
    part = _longest(body[start:])
    if part is None or _declared(scope) & part.sets:
        return False
    used = _loads(scope, apart_from=part.statements)
    given_back = sorted(part.sets & used)
    if not part.sure.issuperset(given_back):
        return False
    changing = set().union(*map(_stores, place.inside)) - part.sets
    parameters = sorted(part.reads & (changing | part.sets))
    first = part.statements[0]
    function = ast.FunctionDef(
        name=name,
        args=ast.arguments(
            posonlyargs=[],
            args=[ast.arg(arg=each) for each in parameters],
            kwonlyargs=[],
            kw_defaults=[],
            defaults=[],
        ),
        body=[*part.statements, ast.Return(value=_tuple(given_back, ast.Load()))],
        decorator_list=[],
    )
    call = ast.Call(
        func=ast.Name(id=name, ctx=ast.Load()),
        args=[ast.Name(id=each, ctx=ast.Load()) for each in parameters],
        keywords=[],
    )
    instead: ast.stmt = ast.Expr(value=call)
    if given_back:
        instead = ast.Assign(targets=[_tuple(given_back, ast.Store())], value=call)
    for new in (function, instead):
        ast.copy_location(new, first)
        ast.fix_missing_locations(new)
    body[start : start + len(part.statements)] = [instead]
    at = next(i for i, each in enumerate(place.block) if each is place.outermost)
    place.block.insert(at, function)
    sources[name] = function
    return True


def _tuple(names: Sequence[str], context: ast.expr_context) -> ast.Tuple:
    return ast.Tuple(elts=[ast.Name(id=n, ctx=context) for n in names], ctx=context)


def _longest(body: list[ast.stmt]) -> _Part | None:
    """As many statements as may go together, up to the last that trains, if
    gradients are taken in them."""
    part, found = _Part([]), None
    gradients: set[str] = set()  # names that hold them
    for statement in body:
        grown = _with(part, statement) if _only_computes(statement) else None
        if grown is None:
            break
        part = grown
        taken = _names_attribute(statement, {"gradient"})
        if taken or gradients & _loads(statement):
            gradients |= _stores(statement)
            found = part
        elif found is not None and _names_attribute(statement, _TRAINS):
            found = part
    return found


def _only_computes(statement: ast.stmt) -> bool:
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


def _with(part: _Part, statement: ast.stmt) -> _Part | None:
    """One more statement; None where it reads what a round before may have set."""
    flow = _Flow(set(part.reads))
    sure = set(part.sure)
    flow.see(statement, sure)
    sets = part.sets | _stores(statement)
    if flow.lost or flow.reads & sets:
        return None
    return _Part([*part.statements, statement], flow.reads, sets, sure)


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
            bound |= set().union(*map(_stores, targets))
        elif isinstance(node, ast.AugAssign):
            self._read(getattr(node.target, "id", ""), bound)
            self.see(node.value, bound)
        elif isinstance(node, ast.With):
            for item in node.items:
                self.see(item.context_expr, bound)
                if item.optional_vars is not None:
                    bound |= _stores(item.optional_vars)
            self._all(node.body, bound)
        elif isinstance(node, ast.For):  # perhaps never
            self.see(node.iter, bound)
            self._all([*node.body, *node.orelse], bound | _stores(node.target))
        elif isinstance(node, ast.If):
            self.see(node.test, bound)
            self._all(node.body, set(bound))
            self._all(node.orelse, set(bound))
        elif isinstance(node, _COMPREHENSIONS):
            own = set().union(*(_stores(each.target) for each in node.generators))
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


def _names_attribute(statement: ast.stmt, names: set[str]) -> bool:
    return any(
        isinstance(node, ast.Attribute) and node.attr in names
        for node in ast.walk(statement)
    )


def _stores(node: ast.AST) -> set[str]:
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


def _loads(scope: ast.AST, apart_from: Sequence[ast.stmt] = ()) -> set[str]:
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


def _declared(scope: ast.Module | ast.FunctionDef) -> set[str]:
    """Names that belong to another scope."""
    return {
        name
        for node in ast.walk(scope)
        if isinstance(node, ast.Global | ast.Nonlocal)
        for name in node.names
    }
