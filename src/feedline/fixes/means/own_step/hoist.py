"""A training step that stands in a loop itself, in no function.

Only a function can run as a graph. So the part of a loop's body from its
`with tf.GradientTape()` to the last statement that only computes is compiled once
more, aside, as a function that the script knows nothing of; and where the part stands,
a switch is put in front of it:

    for x, y in dataset:                 for x, y in dataset:
        with tf.GradientTape() as t:         if not (ON() and TAKE()):
            loss = ...                           with tf.GradientTape() as t:
        ...                         ->               loss = ...
        print(float(loss))                       ...
                                             else:
                                                 loss, = GIVE()
                                             print(float(loss))

The three are constants of the code, no names. While the switch is off, `ON` is all that
is called (the length of an empty list), and the script's own statements run in their
own frame with their own lines: nothing can be told from the script as it was but its
bytecode. While it is on, `TAKE` reads what the part needs from the frame and has it
computed (`inline_step.py`); if it declines, the statements run as they stand.

The part is chosen so that both ways leave the same: nothing but the part itself sees
the names that it sets before it is over, no name is set by chance, and nothing in the
file looks at names or frames. Where that cannot be said, nothing is done. Functions
without such a loop compile to the very same code; that is checked.
"""

from __future__ import annotations

import ast
import importlib.util
import logging
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any

from feedline.fixes.means.own_step import loop_parts
from feedline.fixes.means.own_step.extract import Extracted, extracted
from feedline.fixes.means.own_step.switch import Switch, with_constants
from feedline.job.source.frames import values_in
from feedline.job.source.scopes import Names, Scope, Tables, looked_at

log = logging.getLogger(__name__)

_TRAINS = {"apply_gradients", "update_state", "assign", "assign_add", "assign_sub"}


@dataclass(frozen=True, eq=False)
class Inline:
    """A step in a loop. `lines` may stand for the loop where it starts to read;
    `given` are the names that the script has from it, `left` those that stay behind as
    well where everybody can see them, at the top of a file."""

    path: str
    lines: frozenset[int]
    extracted: Extracted
    given: tuple[str, ...]
    left: tuple[str, ...]
    tapes: frozenset[str]
    switch: Switch

    def captured(self, frame: types.FrameType) -> dict[str, Any]:
        """What the step takes along of the frame; raises LookupError where a name
        is not set yet."""
        values = values_in(frame, self.extracted.captured)
        if values is None:
            raise LookupError(f"{', '.join(self.extracted.captured)}: not all are set")
        return values

    def arguments(
        self, frame: types.FrameType, captured: Mapping[str, Any]
    ) -> tuple[Any, ...] | None:
        """What this round gives it; None where a name is not set, or one that it has
        captured holds something else by now."""
        parameters = self.extracted.parameters
        values = values_in(frame, (*parameters, *captured))
        if values is None:
            return None
        if any(values[name] is not held for name, held in captured.items()):
            return None
        return tuple(values[name] for name in parameters)

    def leave(
        self, frame: types.FrameType, values: Mapping[str, Any]
    ) -> tuple[Any, ...]:
        """Give the script what the step would have left."""
        given = tuple(values[name] for name in self.given)
        for name in self.left:
            if name in values:
                frame.f_globals[name] = values[name]
        return given


_steps: list[Inline] = []


def at(path: str, line: int) -> Inline | None:
    """The step in the loop of this line, if it is one."""
    found = [each for each in _steps if each.path == path and line in each.lines]
    return found[0] if len(found) == 1 else None


Hoist = bool | frozenset[int]
"""Which loops' steps are made functions: all, none, or those of the loops on these
lines."""


def rewriting(hoist: Hoist) -> Callable[[bytes, str], types.CodeType | None] | None:
    """How `job/script/run.py` is to compile the script for it."""
    if not hoist:
        return None
    only = None if hoist is True else hoist
    return lambda text, path: hoisted(text, path, only=only)


def hoisted(
    text: bytes, path: str, only: Set[int] | None = None
) -> types.CodeType | None:
    """The script with a switch at the steps of its loops; None where there is none to
    put. `only` are the lines of the loops that it is wanted for. Raises what `compile`
    raises."""
    if b"GradientTape" not in text or (only is not None and not only):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = compile(text, path, "exec", dont_inherit=True)
        try:
            return _rewritten(text, path, plain, only)
        except Exception:  # the script as it is will do
            log.info("the loops of %s are left as they are", path, exc_info=True)
            return None


def _rewritten(
    text: bytes, path: str, plain: types.CodeType, only: Set[int] | None
) -> types.CodeType | None:
    tree = ast.parse(text, path)
    if looked_at(tree):
        return None
    tables = Tables(importlib.util.decode_source(text), path)
    made: list[Inline] = []
    taken: set[int] = set()  # there is no part in a part
    for scope in loop_parts.scopes(tree):
        for place in list(loop_parts.loops(scope)):
            lines = frozenset(_lines(tree, place.loop))
            names = tables.names(scope)
            if names is None or id(place.loop) in taken:
                continue
            if only is not None and lines.isdisjoint(only):
                continue
            part = part_of(scope, place, names)
            if part is not None:
                taken |= {id(n) for s in part.statements for n in ast.walk(s)}
                made.append(_led_out(scope, place, part, names, path, lines))
    if not made:
        return None
    code = compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)
    constants = {k: v for each in made for k, v in each.switch.constants.items()}
    code = with_constants(plain, code, constants)
    _steps[:] = [each for each in _steps if each.path != path] + made
    return code


def _lines(tree: ast.Module, loop: ast.For | ast.While) -> Iterator[int]:
    """Of the loop itself; and where it calls `next(batches)`, of `batches = iter(...)`
    wherever that stands."""
    yield from loop_parts.header(loop)
    asked = {
        node.args[0].id
        for node in ast.walk(loop)
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "next"
        and node.args
        and isinstance(node.args[0], ast.Name)
    }
    for node in ast.walk(tree) if asked else ():
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            made = getattr(node.value.func, "id", "") == "iter"
            if made and asked & set().union(*map(loop_parts.stores, node.targets)):
                yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def part_of(
    scope: Scope, place: loop_parts.Place, names: Names
) -> loop_parts.Part | None:
    """The step in this loop, if it is the same whether it runs where it stands or
    elsewhere."""
    body = place.loop.body
    start = next((i for i, each in enumerate(body) if loop_parts.is_tape(each)), None)
    part = _longest(body[start:]) if start is not None else None
    if part is None or part.sets & names.shared:
        return None
    at_top = isinstance(scope, ast.Module)
    if not at_top and not part.sets <= names.own:
        return None
    if at_top and any(
        isinstance(node, ast.AnnAssign) for s in part.statements for node in ast.walk(s)
    ):
        return None  # the module notes the annotation
    used = part.sets & loop_parts.loads(scope, apart_from=part.statements)
    if not used <= part.sure or used & part.tapes:
        return None
    if part.reads & (names.local | place.changing) & names.set_elsewhere:
        return None
    return part


def _led_out(
    scope: Scope,
    place: loop_parts.Place,
    part: loop_parts.Part,
    names: Names,
    path: str,
    lines: frozenset[int],
) -> Inline:
    """Put the switch in front of the part."""
    at_top = isinstance(scope, ast.Module)
    changing = part.reads & place.changing
    aside = extracted(
        part.statements,
        changing if at_top else changing & names.local,
        names.local - part.sets,
        scope,
        path,
        returns=True,
    )
    given = part.sets & loop_parts.loads(scope, apart_from=part.statements)
    switch = Switch()
    body = place.loop.body
    start = next(i for i, each in enumerate(body) if each is part.statements[0])
    body[start : start + len(part.statements)] = [
        switch.before(part.statements, sorted(given))
    ]
    return Inline(
        path,
        lines,
        aside,
        tuple(sorted(given)),
        tuple(sorted(part.sets - given)) if at_top else (),
        part.tapes,
        switch,
    )


def _longest(body: list[ast.stmt]) -> loop_parts.Part | None:
    """As many statements as may go together, up to the last that trains, if
    gradients are taken in them."""
    part, found = loop_parts.Part(), None
    gradients: set[str] = set()  # names that hold them
    for statement in body:
        grown = (
            loop_parts.with_one_more(part, statement)
            if loop_parts.only_computes(statement)
            else None
        )
        if grown is None:
            break
        part = grown
        taken = _names_attribute(statement, {"gradient"})
        if taken or gradients & loop_parts.loads(statement):
            gradients |= loop_parts.stores(statement)
            found = part
        elif found is not None and _names_attribute(statement, _TRAINS):
            found = part
    return found


def _names_attribute(statement: ast.stmt, names: set[str]) -> bool:
    return any(
        isinstance(node, ast.Attribute) and node.attr in names
        for node in ast.walk(statement)
    )
