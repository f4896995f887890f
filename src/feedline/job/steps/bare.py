"""Loops over a dataset in whose bodies nothing stands but the step.

    for x, y in dataset:
        loss = train(x, y)

Between two such steps nothing of the script's runs, and of all that they set only
what the last one has set is ever read: so several of them may go in one launch
(`together.py`). The body becomes a function as well, which is made before the
outermost loop; the loop itself stays as it is, and only tells what it reads. Knows no
TensorFlow: it is asked before the script has it.
"""

from __future__ import annotations

import ast
import copy
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from feedline.job.steps import parts

PREFIX = "_feedline_body_"


@dataclass(eq=False)
class Bare:
    """`arguments` are what the body takes of an element. Once the loop is under way:
    `body`, and whether it reads a dataset, with nothing in between."""

    arguments: Callable[[Any], tuple[Any, ...]]
    body: Any = None
    direct: bool = False


_loops: dict[tuple[str, int], Bare] = {}
_names: dict[str, Bare] = {}


def at(path: str, line: int) -> Bare | None:
    """The bare loop of this line."""
    return _loops.get((path, line))


def over(iterable: Any, body: Any) -> Any:
    """What a bare loop reads, as it is."""
    found = _names[body.__name__]
    found.body = body
    known = sys.modules.get("tensorflow")
    found.direct = known is not None and isinstance(iterable, known.data.Dataset)
    return iterable


def note(tree: ast.Module, path: str, only: frozenset[int] | None = None) -> int:
    """Give the bare loops of a script their functions; how many there are."""
    trains = _trains(tree)
    made = 0
    for scope in parts.scopes(tree):
        for place in list(parts.loops(scope)):
            if only is not None and place.loop.lineno not in only:
                continue
            if isinstance(place.loop, ast.For) and _calls(place.loop, trains):
                made += _note(scope, place, place.loop, path)
    return made


def _trains(tree: ast.Module) -> set[str]:
    """The names of functions with a tape in them."""
    return {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(n, ast.stmt) and parts.is_tape(n) for n in ast.walk(node))
    }


def _calls(loop: ast.For, names: set[str]) -> bool:
    called = [n.func for n in ast.walk(loop) if isinstance(n, ast.Call)]
    return any(
        getattr(each, "attr", None) in names or getattr(each, "id", None) in names
        for each in called
    )


def _note(scope: parts.Scope, place: parts.Place, loop: ast.For, path: str) -> bool:
    part = _whole(loop)
    if part is None or parts.declared(scope) & (part.sets | parts.stores(loop.target)):
        return False
    # What a round sets only sometimes, an earlier one may have left for others.
    if not part.sure >= part.sets & parts.loads(scope, apart_from=part.statements):
        return False
    given = parts.stores(loop.target)
    changing = set().union(*map(parts.stores, place.inside))
    parameters = sorted(part.reads & given)
    if part.reads & (changing - given) or part.sets & given:
        return False
    name = f"{PREFIX}{len(parts.sources)}"
    function = parts.function_of(name, parameters, copy.deepcopy(loop.body))
    place.put_before(function)
    parts.sources[name] = function
    _names[name] = _loops[path, loop.lineno] = Bare(_arguments(loop, parameters))
    loop.iter = _told(loop.iter, name)
    return True


def _whole(loop: ast.For) -> parts.Part | None:
    """Its body, if it only computes and no round needs what another has set."""
    if loop.orelse or not _only_names(loop.target):
        return None
    part: parts.Part | None = parts.Part([])
    for statement in loop.body:
        if part is None or not parts.only_computes(statement):
            return None
        part = parts.with_one_more(part, statement)
    return part


def _only_names(target: ast.expr) -> bool:
    if isinstance(target, ast.Tuple | ast.List):
        return all(map(_only_names, target.elts))
    return isinstance(target, ast.Name)


def _arguments(
    loop: ast.For, parameters: list[str]
) -> Callable[[Any], tuple[Any, ...]]:
    unpack = ast.Assign(
        targets=[copy.deepcopy(loop.target)],
        value=ast.Name(id="element", ctx=ast.Load()),
    )
    ast.copy_location(unpack, loop)
    result = ast.Return(value=parts.names_tuple(parameters, ast.Load()))
    function = parts.function_of("arguments", ["element"], [unpack, result])
    made: dict[str, Any] = {}
    module = ast.fix_missing_locations(ast.Module([function], []))
    exec(compile(module, __file__, "exec"), made)
    arguments: Callable[[Any], tuple[Any, ...]] = made["arguments"]
    return arguments


def _told(iterable: ast.expr, name: str) -> ast.expr:
    """`over(iterable, name)`, whatever names the script has."""
    module = ast.parse(
        f"__import__({__name__!r}, None, None, ['over']).over(0, {name})"
    )
    statement = module.body[0]
    assert isinstance(statement, ast.Expr)
    call = statement.value
    assert isinstance(call, ast.Call)
    for node in ast.walk(call):
        ast.copy_location(node, iterable)
    call.args[0] = iterable
    return call
