"""The call in the source that made a stage.

Python says which line made it. On that line the call is known by the method's
name, among several by their number or by the function they are given.
"""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from feedline.fixes.patching import CannotEdit
from feedline.fixes.place import Place
from feedline.job.tfdata import ops
from feedline.report.patches.tree import Call, Tree


def find(tree: Tree, place: Place, together: int) -> Call:
    """`together` is how many stages of this line and kind get the same edit: where
    one call made several stages, it may be edited only if all of them do."""
    known = ops.OPS.get(place.op)
    name = (known and known.public) or place.op
    calls = [call for call in tree.calls if call.name == name]
    # A call with unpacked arguments, and before Python 3.11 one with keywords,
    # counts as standing where its whole chain begins.
    own = [call for call in calls if tree.line(call.at) == place.line]
    chain = [c for c in calls if c not in own and tree.line(c.start) == place.line]
    if not name or not own + chain:
        raise CannotEdit("no call on this line makes it")
    pool = own if len(own) >= place.of else [*own, *chain]
    named = [call for call in pool if function_name(call) == _function_of(place)]
    # What stands in a lambda on this line may build datasets of its own.
    outside = [call for call in pool if not _in_lambda(tree, call)]
    for calls in (pool, named, outside):
        if len(calls) == place.of:
            return calls[place.nth]
    if len(named) == place.alike == 1:
        return named[0]  # the others are a library's, or have other functions
    if len(pool) == 1 and together >= place.of:
        return pool[0]
    if len(pool) < place.of:
        raise CannotEdit("one call makes several stages, and not all are to change")
    raise CannotEdit("several calls on this line could have made it")


def _function_of(place: Place) -> str | None:
    inside = place.label.removeprefix(f"{place.op}(").removesuffix(")")
    return inside or None


def function_name(call: Call) -> str | None:
    """The name of the function that a call is given, as feedline labels stages."""
    return _name(call.node.args[0].value) if call.node.args else None


def _name(value: cst.CSTNode) -> str | None:
    if isinstance(value, cst.Name):
        return value.value
    if isinstance(value, cst.Attribute):
        return value.attr.value
    if isinstance(value, cst.Lambda):
        return "lambda"
    if isinstance(value, cst.Integer):
        return str(value.evaluated_value)
    if isinstance(value, cst.Call) and value.args:  # functools.partial(load, ...)
        return _name(value.args[0].value)
    return None


def _in_lambda(tree: Tree, call: Call) -> bool:
    return any(isinstance(up, cst.Lambda) for up in tree.around(call.node))


def count(places: Iterable[Place], place: Place) -> int:
    """How many stages of this line and kind get the same edit."""
    return sum(
        (other.file, other.line, other.op, other.edit.fix)
        == (place.file, place.line, place.op, place.edit.fix)
        and dict(other.edit.args) == dict(place.edit.args)
        for other in places
    )
