"""`@tf.function` above a function of the user's, and its options."""

from __future__ import annotations

import libcst as cst

from feedline.fixes.patching import CannotEdit
from feedline.report.patches import lines
from feedline.report.patches.arguments import put
from feedline.report.patches.document import Document, Splice
from feedline.report.patches.names import tensorflow_module
from feedline.report.patches.tree import Tree


def as_graph(document: Document, at: int, *, fused: bool = False) -> None:
    """The function whose first line, or whose first decorator's, is here; `fused` by
    XLA, if so."""
    tree = document.tree
    node = _function(tree, tree.line(at))
    name = tensorflow_module(tree, node)
    if name is None:
        raise CannotEdit("this file has no name for TensorFlow")
    start = tree.span(node)[0]
    indent = lines.indent(tree.before(start))
    options = "(jit_compile=True)" if fused else ""
    new = f"@{name}.function{options}".encode() + tree.newline + indent
    document.splice(Splice(start, start, new))


def with_option(document: Document, at: int, option: str) -> None:
    """`option=True` in the `@tf.function` above the function."""
    tree = document.tree
    node = _function(tree, tree.line(at))
    name = tensorflow_module(tree, node)
    known = None if name is None else f"{name}.function"
    for decorator in node.decorators:
        made = decorator.decorator
        if isinstance(made, cst.Call) and tree.code(made.func) == known:
            call = next(each for each in tree.calls if each.node is made)
            put(document, call, option, "True")
            return
        if not isinstance(made, cst.Call) and tree.code(made) == known:
            end = tree.span(made)[1]
            document.splice(Splice(end, end, f"({option}=True)".encode()))
            return
    raise CannotEdit("it is made a tf.function elsewhere")


def _function(tree: Tree, line: int) -> cst.FunctionDef:
    for node in tree.nodes():
        if isinstance(node, cst.FunctionDef):
            first = node.decorators[0] if node.decorators else node
            if tree.line(tree.span(first)[0]) == line and tree.is_first(
                tree.span(node)[0]
            ):
                return node
    raise CannotEdit("no function begins on this line")
