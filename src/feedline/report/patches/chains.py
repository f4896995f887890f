"""Chains of calls: `dataset.map(load).batch(32)`, on one line, on several, or one
link at a time (`dataset = dataset.map(load)`).
"""

from __future__ import annotations

import libcst as cst

from feedline.fixes.patching import CannotEdit
from feedline.report.patches import lines
from feedline.report.patches.document import Document, Splice
from feedline.report.patches.tree import Call, Tree


def append(document: Document, call: Call, name: str, arguments: str = "") -> None:
    """`.name(arguments)` right after a call, unless it stands there already."""
    tree = document.tree
    after = following(tree, call)
    new = f".{name}({arguments})".encode()
    there = after is not None and after.name == name
    if there and name == "apply":  # not any `apply` is the one that is wanted
        there = after is not None and tree.text[: after.end].endswith(new)
    if there:
        return
    outer = _outer(tree, call)
    style = _own_line(tree, call) or (outer and _own_line(tree, outer))
    at = call.end
    if style:
        new = tree.newline + style[0] + new
        at = tree.line_end(at) if tree.is_last(at) else at
    document.marks["appended"] = call.at
    document.splice(Splice(at, at, new))
    here = document.tree.call_at(document.marks.pop("appended"))
    made = here and _outer(document.tree, here)
    if made is not None:
        document.mark_added(made.at)


def _own_line(tree: Tree, call: Call) -> tuple[bytes] | None:
    """The indent, where the links of a chain stand on lines of their own inside
    brackets. In a tuple: an empty indent is one too."""
    if call.dot is None or not tree.is_first(call.dot) or tree.continues(call.dot):
        return None
    return (lines.indent(tree.before(call.dot)),)


def end_of(document: Document, call: Call) -> Call:
    """The last of the links that were put behind this call by us."""
    after = _outer(document.tree, call)
    while after is not None and document.is_added(after):
        call, after = after, _outer(document.tree, after)
    return call


def _outer(tree: Tree, call: Call) -> Call | None:
    """The next link of the chain in this expression."""
    func = tree.parent(call.node)
    if isinstance(func, cst.Attribute) and func.value is call.node:
        return tree.call_of(tree.parent(func))
    return None


def following(tree: Tree, call: Call) -> Call | None:
    """The next link of the chain, in this statement or in the next."""
    outer = _outer(tree, call)
    if outer is not None:
        return outer
    name = _assigned_to(tree, call.node)
    after = _sibling(tree, call.node, 1)
    if name is None or after is None or _target(tree, after) != name:
        return None
    first = _value(after)
    while first is not None:
        link = tree.call_of(first)
        if link is None or link.receiver is None:
            return None
        if tree.code(link.receiver) == name:
            return link
        first = link.receiver
    return None


def preceding(tree: Tree, call: Call) -> Call | None:
    """The link before this one, in this statement or in the last."""
    if call.receiver is None:
        return None
    if isinstance(call.receiver, cst.Call):
        return tree.call_of(call.receiver)
    name = tree.code(call.receiver)
    here, before = _statement(tree, call.node), _sibling(tree, call.node, -1)
    if here is None or before is None:
        return None
    if not _target(tree, here) == _target(tree, before) == name:
        return None
    last = tree.call_of(_value(before))
    return last if last is not None and following(tree, last) is call else None


def move_up(document: Document, call: Call) -> None:
    """The call changes places with the link before it."""
    tree = document.tree
    before = preceding(tree, call)
    if before is None or before.dot is None or call.dot is None:
        raise CannotEdit("the two do not follow each other in one chain")
    ranges = (
        _whole(_link_lines(tree, before), _link_lines(tree, call))
        or _with_comments(
            tree, _statement_lines(tree, before), _statement_lines(tree, call)
        )
        or ((before.dot, before.end), (call.dot, call.end))
    )
    document.swap(*ranges, (before, call))


# Where two calls have lines of their own, the lines change places, so that their
# comments go along.

Range = tuple[int, int]


def _whole(first: Range | None, second: Range | None) -> tuple[Range, Range] | None:
    return None if first is None or second is None else (first, second)


def _with_comments(
    tree: Tree, first: Range | None, second: Range | None
) -> tuple[Range, Range] | None:
    """The comments above the second go along. Those above the first may be about
    all that follows; they go along where each statement has its own."""
    if first is None or second is None:
        return None
    above = _comments_above(tree, second[0])
    start = _comments_above(tree, first[0]) if above < second[0] else first[0]
    return (start, first[1]), (above, second[1])


def _comments_above(tree: Tree, start: int) -> int:
    while start > 0:
        before = tree.line_start(start - 1)
        if not tree.text[before:start].lstrip().startswith(b"#"):
            break
        start = before
    return start


def _link_lines(tree: Tree, call: Call) -> Range | None:
    if call.dot is None or not _own_line(tree, call) or not tree.is_last(call.end):
        return None
    return tree.line_start(call.dot), tree.line_end(call.end)


def _statement_lines(tree: Tree, call: Call) -> Range | None:
    """Of `dataset = dataset.map(load)`, and of no more than one link."""
    statement = _statement(tree, call.node)
    if statement is None or _value(statement) is not call.node:
        return None
    start, end = tree.span(statement)
    alone = not isinstance(call.receiver, cst.Call) and end == call.end
    if not (alone and tree.is_first(start) and tree.is_last(end)):
        return None
    return tree.line_start(start), tree.line_end(end)


# --------------------------------------------------------------- statements


def _statement(tree: Tree, node: cst.CSTNode) -> cst.SimpleStatementLine | None:
    for up in tree.around(node):
        if isinstance(up, cst.SimpleStatementLine):
            return up
        if isinstance(up, cst.BaseCompoundStatement | cst.Lambda):
            return None
    return None


def _sibling(
    tree: Tree, node: cst.CSTNode, step: int
) -> cst.SimpleStatementLine | None:
    here = _statement(tree, node)
    block = None if here is None else tree.parent(here)
    if here is None or not isinstance(block, cst.Module | cst.IndentedBlock):
        return None
    place = next(n for n, each in enumerate(block.body) if each is here) + step
    if not 0 <= place < len(block.body):
        return None
    found = block.body[place]
    return found if isinstance(found, cst.SimpleStatementLine) else None


def _assignment(statement: cst.SimpleStatementLine) -> cst.Assign | None:
    if len(statement.body) != 1:
        return None
    one = statement.body[0]
    return one if isinstance(one, cst.Assign) and len(one.targets) == 1 else None


def _target(tree: Tree, statement: cst.SimpleStatementLine) -> str | None:
    assignment = _assignment(statement)
    if assignment is None:
        return None
    target = assignment.targets[0].target
    plain = isinstance(target, cst.Name | cst.Attribute)
    return tree.code(target) if plain else None


def _value(statement: cst.SimpleStatementLine) -> cst.BaseExpression | None:
    assignment = _assignment(statement)
    return None if assignment is None else assignment.value


def _assigned_to(tree: Tree, node: cst.CSTNode) -> str | None:
    """The name that this whole value is assigned to."""
    statement = _statement(tree, node)
    if statement is None or _value(statement) is not node:
        return None
    return _target(tree, statement)
