"""Loops over a dataset in whose bodies nothing stands but the step.

    for x, y in dataset:
        loss = train(x, y)

Between two such steps nothing of the script's runs, and of all that they set only
what the last one has set is ever read: so several of them may go in one launch
(`multi_step.py`). The script is left as it is: when the loop asks for a batch its frame
is at hand, and its body is compiled once more, aside, with what the names of the frame
hold. Knows no TensorFlow.
"""

from __future__ import annotations

import ast
import copy
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from feedline.fixes.means.own_step import loop_parts
from feedline.fixes.means.own_step.extract import Extracted, extracted
from feedline.fixes.means.own_step.hoist import part_of
from feedline.job.source import definitions
from feedline.job.source.frames import running, values_in
from feedline.job.source.scopes import Names, Scope, Tables, looked_at

_STEP = "\0feedline step"


@dataclass(eq=False)
class StepOnlyLoop:
    """`arguments` are what the body takes of an element; `changing` are the names that
    the loop sets, in `around` where it stands at the top of a file. `direct`: it reads
    a dataset, with nothing in between. `unchanged`: the names that the body took along
    hold what they held. `with_step` is the body with a step in place of the statements
    that it was made from."""

    arguments: Callable[[Any], tuple[Any, ...]]
    body: Any = None
    direct: bool = False
    changing: frozenset[str] = frozenset()
    around: Any = None
    unchanged: Callable[[], bool] = lambda: True
    with_step: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class _Loop:
    """A bare loop in the source."""

    place: loop_parts.Place
    loop: ast.For
    part: loop_parts.Part
    names: Names
    scope: Scope
    path: str

    def compiled(self, statements: Sequence[ast.stmt]) -> Extracted:
        given = self.part.reads & loop_parts.stores(self.loop.target)
        local = self.names.local - self.part.sets
        return extracted(statements, given, local, self.scope, self.path)


def of(frame: types.FrameType, line: int) -> StepOnlyLoop | None:
    """The loop of this line, which the frame runs, if it is bare."""
    found = _in_source(frame.f_code, line)
    if found is None:
        return None
    aside = found.compiled(found.part.statements)
    values = values_in(frame, aside.captured)
    if values is None:
        return None
    code, around = frame.f_code, frame.f_globals

    def unchanged() -> bool:
        now = running(code)
        held = values_in(now, values) if now is not None else None
        return held is not None and all(held[name] is values[name] for name in values)

    def with_step(step: Any) -> Any:
        other = found.compiled(_stepping(found, step.found.given, step.found.extracted))
        constants = [step if c == _STEP else c for c in other.code.co_consts]
        led = other.code.replace(co_consts=tuple(constants))
        return replace(other, code=led).function(around, values)

    return StepOnlyLoop(
        _arguments(found.loop, aside.parameters),
        aside.function(around, values),
        changing=frozenset(loop_parts.stores(found.loop.target) | found.part.sets),
        around=around if isinstance(found.scope, ast.Module) else None,
        unchanged=unchanged,
        with_step=with_step,
    )


def _in_source(code: types.CodeType, line: int) -> _Loop | None:
    file = definitions.file_of(code)
    scope = file.scope_of(code) if file is not None else None
    if file is None or not isinstance(scope, ast.Module | ast.FunctionDef):
        return None
    names = Tables(file.text, code.co_filename).names(scope)
    places = [p for p in loop_parts.loops(scope) if line in loop_parts.header(p.loop)]
    if len(places) != 1 or names is None or looked_at(file.tree):
        return None
    loop = places[0].loop
    if not isinstance(loop, ast.For) or not _trains(loop, file.tree):
        return None
    part = _whole(loop)
    found = part and _Loop(places[0], loop, part, names, scope, code.co_filename)
    return found if found and _may_go_together(found) else None


def _may_go_together(found: _Loop) -> bool:
    """Does nobody but the body itself see what a round in the middle sets?"""
    part, names = found.part, found.names
    given = loop_parts.stores(found.loop.target)
    if (part.sets | given) & names.shared or part.sets & given:
        return False
    if not isinstance(found.scope, ast.Module) and not part.sets | given <= names.own:
        return False
    # What a round sets only sometimes, an earlier one may have left for others.
    used = loop_parts.loads(found.scope, apart_from=part.statements)
    if not part.sure >= part.sets & used:
        return False
    changing = found.place.changing - given
    return not part.reads & (changing | names.set_elsewhere)


def _trains(loop: ast.For, tree: ast.Module) -> bool:
    """Is there a tape in it, or in a function of the file that it calls?"""
    if any(map(loop_parts.is_tape, ast.walk(loop))):
        return True
    trained = {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and any(map(loop_parts.is_tape, ast.walk(node)))
    }
    called = [n.func for n in ast.walk(loop) if isinstance(n, ast.Call)]
    return any(
        getattr(each, "attr", None) in trained or getattr(each, "id", None) in trained
        for each in called
    )


def _whole(loop: ast.For) -> loop_parts.Part | None:
    """Its body, if it only computes and no round needs what another has set."""
    if loop.orelse or not _only_names(loop.target):
        return None
    part: loop_parts.Part | None = loop_parts.Part()
    for statement in loop.body:
        if part is None or not loop_parts.only_computes(statement):
            return None
        part = loop_parts.with_one_more(part, statement)
    return part


def _only_names(target: ast.expr) -> bool:
    if isinstance(target, ast.Tuple | ast.List):
        return all(map(_only_names, target.elts))
    return isinstance(target, ast.Name)


def _stepping(found: _Loop, given: Sequence[str], step: Extracted) -> list[ast.stmt]:
    """The body with a call in place of the statements of the step."""
    part = part_of(found.scope, found.place, found.names)
    assert part is not None
    arguments: list[ast.expr] = [
        ast.Name(id=name, ctx=ast.Load()) for name in step.parameters
    ]
    names: list[ast.expr] = [ast.Name(id=name, ctx=ast.Store()) for name in given]
    call = ast.Call(func=ast.Constant(value=_STEP), args=arguments, keywords=[])
    made: ast.stmt = ast.Expr(value=call)
    if names:
        made = ast.Assign(targets=[ast.Tuple(elts=names, ctx=ast.Store())], value=call)
    ast.fix_missing_locations(ast.copy_location(made, part.statements[0]))
    body = found.loop.body
    start = next(i for i, each in enumerate(body) if each is part.statements[0])
    return [*body[:start], made, *body[start + len(part.statements) :]]


def _arguments(
    loop: ast.For, parameters: Sequence[str]
) -> Callable[[Any], tuple[Any, ...]]:
    """Takes an element apart as the loop does."""
    unpack = ast.Assign(
        targets=[copy.deepcopy(loop.target)],
        value=ast.Name(id="element", ctx=ast.Load()),
    )
    result = ast.Return(
        value=ast.Tuple(
            elts=[ast.Name(id=n, ctx=ast.Load()) for n in parameters], ctx=ast.Load()
        )
    )
    made: dict[str, Any] = {}
    module = ast.parse("def arguments(element): pass")
    function = module.body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = [unpack, result]
    exec(compile(ast.fix_missing_locations(module), __file__, "exec"), made)
    arguments: Callable[[Any], tuple[Any, ...]] = made["arguments"]
    return arguments
