"""How a file calls `tf.data.AUTOTUNE`: by what it imports, else as the number -1."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
from libcst.metadata import Assignment, ImportAssignment

from feedline.fixes.patching import CannotEdit
from feedline.report.patches.document import Document
from feedline.report.patches.tree import Tree

_ROOTS = ("tensorflow", "tensorflow.compat.v2", "tensorflow.compat.v1")
_DATA = tuple(f"{root}.data" for root in _ROOTS)
_CONSTANTS = {
    f"{data}{inside}.AUTOTUNE" for data in _DATA for inside in ("", ".experimental")
}
_NUMBER = "-1"
_FULL = "tf.data.AUTOTUNE"


def autotune(tree: Tree, there: cst.CSTNode) -> str:
    """The shortest name of it that is known where this node stands."""
    for full, name in _known(tree, there):
        if full in _CONSTANTS:
            return name
    module = data_module(tree, there)
    return _NUMBER if module is None else f"{module}.AUTOTUNE"


def data_module(tree: Tree, there: cst.CSTNode) -> str | None:
    """How `tf.data` is called where this node stands; None where it is not known."""
    for full, name in _known(tree, there):
        if full in (*_ROOTS, *_DATA):
            return name if full in _DATA else f"{name}.data"
    return None


def tensorflow_module(tree: Tree, there: cst.CSTNode) -> str | None:
    """How TensorFlow is called where this node stands; None where it is not known."""
    found = (name for full, name in _known(tree, there) if full in _ROOTS)
    return next(found, None)


def autotune_at(document: Document, offset: int) -> str:
    """The same for the text of a comment at this offset, for people to read."""
    try:
        tree = document.tree
    except CannotEdit:
        return _FULL
    holding = [
        call.node for call in tree.calls if tree.line(call.at) == tree.line(offset)
    ]
    name = autotune(tree, holding[0]) if holding else _NUMBER
    return _FULL if name == _NUMBER else name


def _known(tree: Tree, there: cst.CSTNode) -> list[tuple[str, str]]:
    """What holds where this node stands: full names, and what they are called there,
    in the order in which they are written."""
    scope = tree.names(there)
    around, names = scope, {each.name for each in scope.assignments}
    while around is not around.parent:
        around = around.parent
        names |= {each.name for each in around.assignments}
    found = [
        (tree.span(one.node)[0], full, name)
        for name in names
        for one in scope[name]
        if isinstance(one, Assignment)
        and not (one.scope is scope and tree.span(one.node) > tree.span(there))
        and not _for_types_alone(tree, one.node)
        for full in _full(tree, one, name)
    ]
    return [(full, name) for _, full, name in sorted(found)]


def _full(tree: Tree, one: Assignment, name: str) -> Iterator[str]:
    if isinstance(one, ImportAssignment):
        yield from (each.name for each in one.get_qualified_names_for(name))
    for up in tree.around(one.node):  # `AUTOTUNE = tf.data.AUTOTUNE`
        value = up.value if isinstance(up, cst.Assign) else None
        if isinstance(value, cst.Attribute) and value.attr.value == "AUTOTUNE":
            yield f"{_DATA[0]}.AUTOTUNE"


def _for_types_alone(tree: Tree, node: cst.CSTNode) -> bool:
    return any(
        isinstance(up, cst.If) and tree.code(up.test).endswith("TYPE_CHECKING")
        for up in tree.around(node)
    )
