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

from feedline.job.source import is_library
from feedline.job.steps import bare, parts

PREFIX = "_feedline_step_"
_TRAINS = {"apply_gradients", "update_state", "assign", "assign_add", "assign_sub"}
# They see or change names behind our back.
_OUTSIDE = {"locals", "globals", "vars", "exec", "eval", "dir"}


def hoisted(
    text: bytes, path: str, only: frozenset[int] | None = None
) -> types.CodeType | None:
    """The script with the steps of its loops in functions, and the loops known that
    are bare; None where it has no such loop. `only` are the lines of the loops that may
    be touched. Raises what `compile` raises."""
    if b"GradientTape" not in text:
        return None
    tree = ast.parse(text, path)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if names & _OUTSIDE:
        return None
    made = 0
    for scope in parts.scopes(tree):
        for place in list(parts.loops(scope)):
            if only is not None and place.loop.lineno not in only:
                continue
            if any(map(parts.is_tape, place.loop.body)):
                made += _hoist(scope, place, f"{PREFIX}{len(parts.sources)}")
    made += bare.note(tree, path, only)
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


def _hoist(scope: parts.Scope, place: parts.Place, name: str) -> bool:
    body = place.loop.body
    start = next(i for i, statement in enumerate(body) if parts.is_tape(statement))
    part = _longest(body[start:])
    if part is None or parts.declared(scope) & part.sets:
        return False
    used = parts.loads(scope, apart_from=part.statements)
    given_back = sorted(part.sets & used)
    if not part.sure.issuperset(given_back):
        return False
    changing = set().union(*map(parts.stores, place.inside)) - part.sets
    parameters = sorted(part.reads & (changing | part.sets))
    result = ast.Return(value=parts.names_tuple(given_back, ast.Load()))
    function = parts.function_of(name, parameters, [*part.statements, result])
    call = ast.Call(
        func=ast.Name(id=name, ctx=ast.Load()),
        args=[ast.Name(id=each, ctx=ast.Load()) for each in parameters],
        keywords=[],
    )
    instead: ast.stmt = ast.Expr(value=call)
    if given_back:
        instead = ast.Assign(
            targets=[parts.names_tuple(given_back, ast.Store())], value=call
        )
    ast.fix_missing_locations(ast.copy_location(instead, part.statements[0]))
    body[start : start + len(part.statements)] = [instead]
    place.put_before(function)
    parts.sources[name] = function
    return True


def _longest(body: list[ast.stmt]) -> parts.Part | None:
    """As many statements as may go together, up to the last that trains, if
    gradients are taken in them."""
    part, found = parts.Part([]), None
    gradients: set[str] = set()  # names that hold them
    for statement in body:
        grown = (
            parts.with_one_more(part, statement)
            if parts.only_computes(statement)
            else None
        )
        if grown is None:
            break
        part = grown
        taken = _names_attribute(statement, {"gradient"})
        if taken or gradients & parts.loads(statement):
            gradients |= parts.stores(statement)
            found = part
        elif found is not None and _names_attribute(statement, _TRAINS):
            found = part
    return found


def _names_attribute(statement: ast.stmt, names: set[str]) -> bool:
    return any(
        isinstance(node, ast.Attribute) and node.attr in names
        for node in ast.walk(statement)
    )
