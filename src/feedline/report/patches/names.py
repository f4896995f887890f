"""How a file calls `tf.data.AUTOTUNE`: by what it imports, else as the number -1."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from feedline.fixes.patching import CannotEdit
from feedline.report.patches.document import Document
from feedline.report.patches.tree import Tree

_ROOTS = ("tensorflow", "tensorflow.compat.v2", "tensorflow.compat.v1")
_DATA = tuple(f"{root}.data" for root in _ROOTS)
_HOLDERS = (*_DATA, *(f"{data}.experimental" for data in _DATA))
_NUMBER = "-1"
_FULL = "tf.data.AUTOTUNE"


def autotune(tree: Tree, there: cst.CSTNode) -> str:
    """The shortest name of it that is known where this node stands."""
    constants = [
        name
        for node in _known(tree, there)
        for name in (
            _constants(node)
            if isinstance(node, cst.Assign)
            else [name for full, name in _bound(tree, node) if _is_constant(full)]
        )
    ]
    hidden = _parameters(tree, there)
    found = next((name for name in constants if name not in hidden), None)
    if found is not None:
        return found
    module = data_module(tree, there)
    return _NUMBER if module is None else f"{module}.AUTOTUNE"


def data_module(tree: Tree, there: cst.CSTNode) -> str | None:
    """How `tf.data` is called where this node stands; None where it is not known."""
    hidden = _parameters(tree, there)
    for node in _known(tree, there):
        for full, name in _bound(tree, node):
            if name in hidden:
                continue
            if full in _ROOTS:
                return f"{name}.data"
            if full in _DATA:
                return name
    return None


def tensorflow_module(tree: Tree, there: cst.CSTNode) -> str | None:
    """How TensorFlow is called where this node stands; None where it is not known."""
    hidden = _parameters(tree, there)
    for node in _known(tree, there):
        for full, name in _bound(tree, node):
            if full in _ROOTS and name not in hidden:
                return name
    return None


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


def _is_constant(full: str) -> bool:
    return full in {f"{holder}.AUTOTUNE" for holder in _HOLDERS}


def _known(tree: Tree, there: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Imports and assignments that hold where this node stands."""
    return (node for node in tree.nodes() if _is_known(tree, node, there))


def _constants(node: cst.Assign) -> Iterator[str]:
    """`AUTOTUNE = tf.data.AUTOTUNE`"""
    value = node.value
    if isinstance(value, cst.Attribute) and value.attr.value == "AUTOTUNE":
        for target in node.targets:
            if isinstance(target.target, cst.Name):
                yield target.target.value


def _bound(tree: Tree, node: cst.CSTNode) -> Iterator[tuple[str, str]]:
    """What an import imports, by its full name, and what it is called here."""
    if isinstance(node, cst.Import):
        for alias in node.names:
            full = tree.code(alias.name)
            if alias.asname is not None:
                yield full, tree.code(alias.asname.name)
            else:  # `import tensorflow.keras` makes `tensorflow` known
                yield full.split(".")[0], full.split(".")[0]
    elif isinstance(node, cst.ImportFrom):
        if node.module is None or node.relative:
            return
        if isinstance(node.names, cst.ImportStar):
            return
        for alias in node.names:
            name = tree.code(alias.asname.name if alias.asname else alias.name)
            yield f"{tree.code(node.module)}.{tree.code(alias.name)}", name


def _is_known(tree: Tree, node: cst.CSTNode, there: cst.CSTNode) -> bool:
    """Does what this statement binds exist where the other node stands?"""
    if not isinstance(node, cst.Import | cst.ImportFrom | cst.Assign):
        return False
    scope = tree.function(node)
    if scope is not None and scope not in tree.scopes(there):
        return False
    if isinstance(scope, cst.ClassDef) and tree.function(there) is not scope:
        return False
    if scope is tree.function(there) and tree.span(node)[0] > tree.span(there)[0]:
        return False
    return not any(
        isinstance(up, cst.If) and tree.code(up.test).endswith("TYPE_CHECKING")
        for up in tree.around(node)
    )


def _parameters(tree: Tree, node: cst.CSTNode) -> set[str]:
    """Names that the functions around it use for something else."""
    return {
        parameter.name.value
        for scope in tree.scopes(node)
        if not isinstance(scope, cst.ClassDef)
        for parameter in (
            *scope.params.posonly_params,
            *scope.params.params,
            *scope.params.kwonly_params,
        )
    }
