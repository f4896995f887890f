"""How a file calls `tf.data.AUTOTUNE`: by what it imports, else as the number -1."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from feedline.report.patches.document import CannotEdit, Document
from feedline.report.patches.tree import Tree

_ROOTS = ("tensorflow", "tensorflow.compat.v2", "tensorflow.compat.v1")
_DATA = tuple(f"{root}.data" for root in _ROOTS)
_HOLDERS = (*_DATA, *(f"{data}.experimental" for data in _DATA))
_NUMBER = "-1"
_FULL = "tf.data.AUTOTUNE"


def autotune(tree: Tree, there: cst.CSTNode) -> str:
    """The shortest name of it that is known where this node stands."""
    own: list[str] = []
    imported: list[str] = []
    spelled: list[str] = []
    for node in tree.nodes():
        if not _is_known(tree, node, there):
            continue
        if isinstance(node, cst.Assign):
            own += _constants(node)
        elif isinstance(node, cst.Import):
            spelled += _modules(tree, node)
        elif isinstance(node, cst.ImportFrom):
            imported += [n for full, n in _members(tree, node) if _is_constant(full)]
            spelled += [
                text
                for full, name in _members(tree, node)
                if (text := _through(full, name)) is not None
            ]
    hidden = _parameters(tree, there)
    known = [n for n in (*own, *imported, *spelled) if n.split(".")[0] not in hidden]
    return known[0] if known else _NUMBER


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


def _through(full: str, name: str) -> str | None:
    if full in _ROOTS:
        return f"{name}.data.AUTOTUNE"
    return f"{name}.AUTOTUNE" if full in _HOLDERS else None


def _constants(node: cst.Assign) -> Iterator[str]:
    """`AUTOTUNE = tf.data.AUTOTUNE`"""
    value = node.value
    if isinstance(value, cst.Attribute) and value.attr.value == "AUTOTUNE":
        for target in node.targets:
            if isinstance(target.target, cst.Name):
                yield target.target.value


def _modules(tree: Tree, node: cst.Import) -> Iterator[str]:
    for alias in node.names:
        full = tree.code(alias.name)
        if alias.asname is None:
            # `import tensorflow.keras` makes `tensorflow` known.
            if full.split(".")[0] == "tensorflow":
                yield "tensorflow.data.AUTOTUNE"
        elif (text := _through(full, tree.code(alias.asname.name))) is not None:
            yield text


def _members(tree: Tree, node: cst.ImportFrom) -> Iterator[tuple[str, str]]:
    """What is imported, by its full name, and what it is called here."""
    if node.module is None or node.relative or isinstance(node.names, cst.ImportStar):
        return
    for alias in node.names:
        asname = alias.asname
        name = tree.code(asname.name if asname is not None else alias.name)
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
